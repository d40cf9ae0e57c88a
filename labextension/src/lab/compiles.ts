/** What the kernel tells of each compile, and what is made of many: totals, storms, what a cell costs. */

/** `jaxscope.model.log.CompileEvent`; what has its default is left out. */
export interface CompileEvent {
  serial: number;
  fun_name: string;
  kind: string;
  cell?: number | null;
  cell_id?: string;
  /** `In [3]:4`, `train.py:12`. */
  place?: string;
  line?: number | null;
  text?: string;
  trace_s: number;
  lower_s: number;
  compile_s: number;
  recompile?: boolean;
  cause?: string;
  fix?: string;
  persistent?: string;
  error?: string;
}

/** As many compiles as make a storm when they come from one line. */
const STORM = 3;

/** Compiles that stand together: one, or a storm from one line. The newest first. */
export interface Group {
  key: string;
  events: readonly CompileEvent[];
}

export interface Totals {
  compiles: number;
  recompiles: number;
  seconds: number;
}

export function seconds(event: CompileEvent): number {
  return event.trace_s + event.lower_s + event.compile_s;
}

export function totals(events: Iterable<CompileEvent>): Totals {
  const sum = { compiles: 0, recompiles: 0, seconds: 0 };
  for (const event of events) {
    sum.compiles += 1;
    if (event.recompile) sum.recompiles += 1;
    sum.seconds += seconds(event);
  }
  return sum;
}

/** "12 compiles · 3 recompiles · 4.1 s": what did not happen is left out. */
export function totalLine({ compiles, recompiles, seconds }: Totals): string {
  const words = [count(compiles, "compile")];
  if (recompiles) words.push(count(recompiles, "recompile"));
  if (compiles) words.push(duration(seconds));
  return words.join(" · ");
}

export function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? "" : "s"}`;
}

export function duration(seconds: number): string {
  if (seconds === 0) return "0 s";
  if (seconds < 1e-3) return `${(seconds * 1e6).toFixed(0)} µs`;
  if (seconds < 1) return `${(seconds * 1e3).toPrecision(seconds < 0.1 ? 2 : 3)} ms`;
  if (seconds < 60) return `${seconds.toFixed(seconds < 10 ? 1 : 0)} s`;
  return `${Math.floor(seconds / 60)} min ${Math.round(seconds % 60)} s`;
}

/** Whether the line is a line of the notebook's cell, and not of a file that it calls. */
export function inCell(event: CompileEvent): boolean {
  return Boolean(event.cell_id) && (event.place ?? "").startsWith("In [");
}

/** Newest first; three or more of one function from one line become one group, where its newest stands. */
export function groups(events: readonly CompileEvent[]): Group[] {
  const byLine = new Map<string, CompileEvent[]>();
  for (const event of events) {
    const key = `${event.cell_id ?? ""}/${event.place ?? ""}/${event.fun_name}`;
    const known = byLine.get(key);
    if (known) known.push(event);
    else byLine.set(key, [event]);
  }
  const found: Group[] = [];
  for (const [key, together] of byLine) {
    if (event(together).place && together.length >= STORM) {
      found.push({ key, events: [...together].sort((a, b) => b.serial - a.serial) });
    } else {
      for (const event of together) found.push({ key: `${key}/${event.serial}`, events: [event] });
    }
  }
  return found.sort((a, b) => event(b.events).serial - event(a.events).serial);
}

/** The first of a list that has one. */
export function event(events: readonly CompileEvent[]): CompileEvent {
  const [first] = events;
  if (!first) throw new Error("A group holds one compile at least.");
  return first;
}

/** Whether every word of the query stands somewhere in what is shown of a compile. */
export function matches(event: CompileEvent, query: string): boolean {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  const shown = [event.fun_name, event.place, event.text, event.cause, event.kind, event.error];
  const text = shown.join(" ").toLowerCase();
  return words.every((word) => text.includes(word));
}

/** By cell id. */
export function byCell(events: Iterable<CompileEvent>): Map<string, CompileEvent[]> {
  const found = new Map<string, CompileEvent[]>();
  for (const event of events) {
    if (!event.cell_id) continue;
    const known = found.get(event.cell_id);
    if (known) known.push(event);
    else found.set(event.cell_id, [event]);
  }
  return found;
}
