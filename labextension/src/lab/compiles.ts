/** What the kernel tells of each compile, and what is made of many: totals, storms, what a cell costs. */

/** `jaxscope.model.compile_log.CompileEvent`; what has its default is left out. */
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

/** `jaxscope.analysis.compiles.live_storms.StormUpdate`: what became of many compiles from one line. */
export interface StormNews {
  storm: number;
  /** Those that joined it since it was last told of. */
  serials: readonly number[];
  /** What changes from one to the next; empty where they have nothing in common any more. */
  pattern: string;
  fix: string;
}

/** Which compiles belong together. */
export class Storms {
  private readonly of = new Map<number, number>();
  private readonly known = new Map<number, StormNews>();

  hear(news: StormNews): void {
    for (const serial of news.serials) this.of.set(serial, news.storm);
    this.known.set(news.storm, news);
  }

  /** The storm of a compile, as far as it is one of several. */
  find(serial: number): StormNews | null {
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

  event(event: CompileEvent): CompileEvent {
    return { ...event, serial: this.number(event.serial) };
  }

  storm(news: StormNews): StormNews {
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
  events: readonly CompileEvent[];
  storm: StormNews | null;
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

/** Newest first. What is shown of a storm stands where its newest does; of a single one its own cause is said. */
export function groups(events: readonly CompileEvent[], storms: Storms): Group[] {
  const together = new Map<StormNews, CompileEvent[]>();
  const found: Group[] = [];
  const alone = (event: CompileEvent) =>
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
export function event(events: readonly CompileEvent[]): CompileEvent {
  const [first] = events;
  if (!first) throw new Error("A group holds one compile at least.");
  return first;
}

/** Whether every word of the query stands somewhere in what is shown of a compile. */
export function matches(event: CompileEvent, query: string, storm: StormNews | null): boolean {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  const { fun_name, place, text: line, cause, kind, error } = event;
  const shown = [fun_name, place, line, cause, kind, error, storm?.pattern];
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
