/** Compilations by line, by cell and in total. */

import { push } from "../links";
import type { CompileEventJson, StormUpdateJson } from "../schema/compiles";
import { count, seconds } from "../words";

/** Storms: groups of recompilations of one line. */
export class Storms {
  private readonly of = new Map<number, number>();
  private readonly known = new Map<number, StormUpdateJson>();

  update(news: StormUpdateJson): void {
    for (const serial of news.serials) this.of.set(serial, news.storm);
    this.known.set(news.storm, news);
  }

  /** The storm that a compilation belongs to. */
  find(serial: number): StormUpdateJson | null {
    const storm = this.known.get(this.of.get(serial) ?? 0);
    return storm?.pattern ? storm : null;
  }
}

/** Serial numbers that keep growing: jaxscope restarts at 1 when it is reloaded. */
export class Numbers {
  private before = 0;
  private most = 0;

  /** Events from now on are newer than all before. */
  again(): void {
    this.before = this.most;
  }

  event(event: CompileEventJson): CompileEventJson {
    return { ...event, serial: this.number(event.serial) };
  }

  storm(news: StormUpdateJson): StormUpdateJson {
    const serials = news.serials.map((serial) => this.number(serial));
    return { ...news, storm: this.number(news.storm), serials };
  }

  private number(serial: number): number {
    const found = this.before + serial;
    this.most = Math.max(this.most, found);
    return found;
  }
}

/** An entry of the list: one compilation, or a storm. The newest first. */
export interface Group {
  key: string;
  events: readonly CompileEventJson[];
  storm: StormUpdateJson | null;
}

export interface Totals {
  compiles: number;
  recompiles: number;
  seconds: number;
}

export function secondsOf(event: CompileEventJson): number {
  return (event.trace_s ?? 0) + (event.lower_s ?? 0) + (event.compile_s ?? 0);
}

export function totals(events: Iterable<CompileEventJson>): Totals {
  const sum = { compiles: 0, recompiles: 0, seconds: 0 };
  for (const event of events) {
    sum.compiles += 1;
    if (event.recompile) sum.recompiles += 1;
    sum.seconds += secondsOf(event);
  }
  return sum;
}

/** "12 compiles · 3 recompiles · 4.1 s", without zeros. */
export function totalLine({ compiles, recompiles, seconds: total }: Totals): string {
  const words = [count(compiles, "compile")];
  if (recompiles) words.push(count(recompiles, "recompile"));
  if (compiles) words.push(seconds(total));
  return words.join(" · ");
}

/** Whether the line is in a cell of the notebook, not in a file that it calls. */
export function inCell(event: CompileEventJson): boolean {
  return Boolean(event.cell_id) && event.place.startsWith("In [");
}

/** Newest first; a storm is placed by its newest member. A storm with one visible member is shown as a single compilation. */
export function groups(events: readonly CompileEventJson[], storms: Storms): Group[] {
  const together = new Map<StormUpdateJson, CompileEventJson[]>();
  const found: Group[] = [];
  const alone = (event: CompileEventJson) =>
    found.push({ key: String(event.serial), events: [event], storm: null });
  for (const event of events) {
    const storm = storms.find(event.serial);
    if (!storm) alone(event);
    else if (!together.get(storm)?.push(event)) together.set(storm, [event]);
  }
  for (const [storm, members] of together) {
    if (members.length === 1) members.forEach(alone);
    else {
      const newest = members.sort((a, b) => b.serial - a.serial);
      found.push({ key: `storm-${storm.storm}`, events: newest, storm });
    }
  }
  return found.sort((a, b) => event(b.events).serial - event(a.events).serial);
}

/** The first event of a group, which is never empty. */
export function event(events: readonly CompileEventJson[]): CompileEventJson {
  const [first] = events;
  if (!first) throw new Error("A group has at least one compilation.");
  return first;
}

/** Whether the entry of a compilation contains every word of the query. */
export function matches(
  event: CompileEventJson,
  query: string,
  storm: StormUpdateJson | null,
): boolean {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  const { fun_name, place, text: line, cause, kind, error } = event;
  const shown = [fun_name, place, line, cause, kind, error, storm?.pattern];
  const text = shown.join(" ").toLowerCase();
  return words.every((word) => text.includes(word));
}

/** By cell id. */
export function byCell(events: Iterable<CompileEventJson>): Map<string, CompileEventJson[]> {
  const found = new Map<string, CompileEventJson[]>();
  for (const event of events) {
    if (!event.cell_id) continue;
    push(found, event.cell_id, event);
  }
  return found;
}
