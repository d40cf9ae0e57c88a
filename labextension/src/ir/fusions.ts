/** Fusions of the optimized HLO, by line. */

export interface Fusion {
  /** The line of the fusion instruction. */
  line: number;
  name: string;
  /** The lines of the computation that it runs. */
  first: number;
  last: number;
}

const START = /^(?:ENTRY\s+)?%?([\w.-]+)\s*[({]/;
const CALLS = /\sfusion\(.*\bcalls=%?([\w.-]+)/;
const NAME = /^\s*(?:ROOT\s+)?(%?[\w.-]+)\s*=/;

/** The name of the instruction on a line, with its `%`; empty where there is none. */
export function instructionName(line: string): string {
  return NAME.exec(line)?.[1] ?? "";
}

export class Fusions {
  /** Ascending, without overlaps. */
  private readonly found: Fusion[] = [];
  private readonly byLine = new Map<number, Fusion>();

  constructor(lines: readonly string[]) {
    const bodies: { name: string; first: number; last: number }[] = [];
    const callers = new Map<string, { line: number; name: string }>();
    let open: { name: string; first: number; last: number } | null = null;
    lines.forEach((text, index) => {
      if (text.startsWith("}")) {
        if (open) bodies.push({ ...open, last: index + 1 });
        open = null;
      } else if (!text.startsWith(" ")) {
        const start = text.endsWith("{") ? START.exec(text) : null;
        if (start?.[1]) open = { name: start[1], first: index + 1, last: 0 };
      } else if (text.includes(" fusion(")) {
        const called = CALLS.exec(text)?.[1];
        if (called) callers.set(called, { line: index + 1, name: instructionName(text) });
      }
    });
    for (const { name, first, last } of bodies) {
      const caller = callers.get(name);
      if (!caller) continue;
      const fusion = { ...caller, first, last };
      this.found.push(fusion);
      this.byLine.set(caller.line, fusion);
    }
  }

  /** The fusion of a line: inside its computation, or the fusion instruction itself. */
  of(line: number): Fusion | null {
    const own = this.byLine.get(line);
    if (own) return own;
    let low = 0;
    let high = this.found.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.found[middle]?.last ?? 0) < line) low = middle + 1;
      else high = middle;
    }
    const found = this.found[low];
    return found && found.first <= line ? found : null;
  }
}
