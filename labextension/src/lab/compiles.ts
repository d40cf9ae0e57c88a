/** Compilations by line, by cell and in total. */

import { push } from "../links";
import type { CellRunJson, CompileEventJson, StormUpdateJson } from "../schema/compiles";
import type { NextStepJson } from "../schema/report";
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

  step(step: NextStepJson): NextStepJson {
    const { serials } = step;
    return serials ? { ...step, serials: serials.map((serial) => this.number(serial)) } : step;
  }

  private number(serial: number): number {
    const found = this.before + serial;
    this.most = Math.max(this.most, found);
    return found;
  }
}

/** The sections of the list, in order. */
export const SECTIONS = ["again", "first", "eager"] as const;
export type Section = (typeof SECTIONS)[number];

/** An entry of the list: one compilation, a storm, or the eager operations of a cell. */
export interface Group {
  key: string;
  section: Section;
  events: readonly CompileEventJson[];
  storm: StormUpdateJson | null;
}

export interface Totals {
  /** Of functions, without eager operations; so are the recompilations and seconds. */
  compiles: number;
  recompiles: number;
  seconds: number;
  operations: number;
  operationSeconds: number;
}

export function secondsOf(event: CompileEventJson): number {
  return (event.trace_s ?? 0) + (event.lower_s ?? 0) + (event.compile_s ?? 0);
}

/** Whether it is a recompilation that is worth a word: not a further shape of an eager operation. */
export function isAgain(event: CompileEventJson, storms: Storms): boolean {
  return event.recompile || (event.kind === "eager" && storms.find(event.serial) !== null);
}

/** Whether it can and should be avoided: the only ones of which a badge speaks. */
export function isAvoidable(event: CompileEventJson, storms: Storms): boolean {
  return event.avoidable || (event.kind === "eager" && isAgain(event, storms));
}

export function totals(events: Iterable<CompileEventJson>): Totals {
  const sum = { compiles: 0, recompiles: 0, seconds: 0, operations: 0, operationSeconds: 0 };
  for (const event of events) {
    if (event.kind === "eager") {
      sum.operations += 1;
      sum.operationSeconds += secondsOf(event);
    } else {
      sum.compiles += 1;
      if (event.recompile) sum.recompiles += 1;
      sum.seconds += secondsOf(event);
    }
  }
  return sum;
}

/** "12 compiles · 3 recompiles · 4.1 s · 31 eager operations, 1.8 s", without zeros. */
export function totalLine(found: Totals): string {
  const words: string[] = [];
  if (found.compiles || !found.operations) words.push(count(found.compiles, "compile"));
  if (found.recompiles) words.push(count(found.recompiles, "recompile"));
  if (found.compiles) words.push(seconds(found.seconds));
  if (found.operations)
    words.push(`${count(found.operations, "eager operation")}, ${seconds(found.operationSeconds)}`);
  return words.join(" · ");
}

/** Whether the line is in a cell of the notebook, not in a file that it calls. */
export function inCell(event: CompileEventJson): boolean {
  return Boolean(event.cell_id) && event.place.startsWith("In [");
}

/** By section, the newest first. A storm with one visible member is shown as a single compilation;
 *  the eager operations of a cell are one entry. */
export function groups(events: readonly CompileEventJson[], storms: Storms): Group[] {
  const together = new Map<string, Group>();
  for (const event of events) {
    const storm = storms.find(event.serial);
    const group: Group = entryOf(event, storm);
    const known = together.get(group.key);
    if (known) known.events = [...known.events, event];
    else together.set(group.key, group);
  }
  const found = [...together.values()].map((group) => {
    const newest = [...group.events].sort((a, b) => b.serial - a.serial);
    const [only] = newest;
    if (group.storm && newest.length === 1 && only) return entryOf(only, null);
    return { ...group, events: newest };
  });
  return found.sort(
    (a, b) =>
      SECTIONS.indexOf(a.section) - SECTIONS.indexOf(b.section) ||
      event(b.events).serial - event(a.events).serial,
  );
}

function entryOf(event: CompileEventJson, storm: StormUpdateJson | null): Group {
  const eager = event.kind === "eager";
  if (storm) {
    const section = eager ? "eager" : "again";
    return { key: `storm-${storm.storm}`, section, events: [event], storm };
  }
  if (eager) {
    const where = event.cell_id || event.place;
    return { key: `eager-${where}-${event.cell ?? ""}`, section: "eager", events: [event], storm };
  }
  const section = event.recompile ? "again" : "first";
  return { key: String(event.serial), section, events: [event], storm };
}

/** A cell of the strip: its wall time, and how much of it was compilation. */
export interface Stretch {
  cell: number;
  seconds: number;
  compiling: number;
}

/** The runs of cells in order, with their compilations; a cell number is never used twice by a
 *  kernel. */
export function stretches(
  runs: readonly CellRunJson[],
  events: Iterable<CompileEventJson>,
): Stretch[] {
  const compiling = new Map<number, number>();
  for (const event of events)
    if (event.cell !== null)
      compiling.set(event.cell, (compiling.get(event.cell) ?? 0) + secondsOf(event));
  return runs.map((run) => {
    const seconds = run.seconds ?? 0;
    const within = Math.min(compiling.get(run.cell) ?? 0, seconds);
    return { cell: run.cell, seconds, compiling: within };
  });
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
