/** What the kernel tells of each compile, and what is made of many: totals, storms, what a cell costs. */

import type { CompileEventJson, StormNewsJson } from "../schema/compiles";
import { count, seconds } from "../words";

/** Which compiles belong together. */
export class Storms {
  private readonly of = new Map<number, number>();
  private readonly known = new Map<number, StormNewsJson>();

  hear(news: StormNewsJson): void {
    for (const serial of news.serials) this.of.set(serial, news.storm);
    this.known.set(news.storm, news);
  }

  /** The storm of a compile, as far as it is one of several. */
  find(serial: number): StormNewsJson | null {
    const storm = this.known.get(this.of.get(serial) ?? 0);
    return storm?.pattern ? storm : null;
  }
}

/** One count for all that is told: jaxscope counts from 1 again when it is loaded again. */
export class Numbers {
  private before = 0;
  private most = 0;

  /** What is told from now on is newer than all that was told. */
  again(): void {
    this.before = this.most;
  }

  event(event: CompileEventJson): CompileEventJson {
    return { ...event, serial: this.number(event.serial) };
  }

  storm(news: StormNewsJson): StormNewsJson {
    const serials = news.serials.map((serial) => this.number(serial));
    return { ...news, storm: this.number(news.storm), serials };
  }

  private number(told: number): number {
    const found = this.before + told;
    this.most = Math.max(this.most, found);
    return found;
  }
}

/** Compiles that stand together: one, or a storm from one line. The newest first. */
export interface Group {
  key: string;
  events: readonly CompileEventJson[];
  storm: StormNewsJson | null;
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

/** "12 compiles · 3 recompiles · 4.1 s": what did not happen is left out. */
export function totalLine({ compiles, recompiles, seconds: total }: Totals): string {
  const words = [count(compiles, "compile")];
  if (recompiles) words.push(count(recompiles, "recompile"));
  if (compiles) words.push(seconds(total));
  return words.join(" · ");
}

/** Whether the line is a line of the notebook's cell, and not of a file that it calls. */
export function inCell(event: CompileEventJson): boolean {
  return Boolean(event.cell_id) && event.place.startsWith("In [");
}

/** Newest first. What is shown of a storm stands where its newest does; of a single one its own cause is said. */
export function groups(events: readonly CompileEventJson[], storms: Storms): Group[] {
  const together = new Map<StormNewsJson, CompileEventJson[]>();
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

/** The first of a list that has one. */
export function event(events: readonly CompileEventJson[]): CompileEventJson {
  const [first] = events;
  if (!first) throw new Error("A group holds one compile at least.");
  return first;
}

/** Whether every word of the query stands somewhere in what is shown of a compile. */
export function matches(
  event: CompileEventJson,
  query: string,
  storm: StormNewsJson | null,
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
    const known = found.get(event.cell_id);
    if (known) known.push(event);
    else found.set(event.cell_id, [event]);
  }
  return found;
}
