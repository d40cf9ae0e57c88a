/** Links between lines and equations, by the rule of `jaxscope.analysis.links.line_links`. */

import type { AnchorJson, EquationJson, FrameJson } from "./schema/report";

/** Lines of a text, split as Python and XLA split them. */
export function splitLines(text: string): string[] {
  const lines = text.split(/\r\n|\r|\n/);
  if (lines[lines.length - 1] === "") lines.pop();
  return lines;
}

/** Adds a value to those of its key. */
export function push<K, V>(map: Map<K, V[]>, key: K, value: V): void {
  cached(map, key, () => []).push(value);
}

interface Cache<K, V> {
  get(key: K): V | undefined;
  set(key: K, value: V): unknown;
}

/** The value of a key, made once. */
export function cached<K, V>(map: Cache<K, V>, key: K, make: () => V): V {
  const known = map.get(key);
  if (known !== undefined) return known;
  const made = make();
  map.set(key, made);
  return made;
}

/** The equations of a program, by id and by source line. */
export class Equations {
  readonly byId: ReadonlyMap<number, EquationJson>;
  private readonly lineCache = new Map<number, Map<number, number[]>>();
  private readonly homeCache = new Map<number, Map<number, number>>();

  private children: Map<number, number[]> | null = null;

  /** Without `callers`, an equation belongs to the innermost line of user code only. */
  constructor(
    equations: readonly EquationJson[],
    private readonly callers = true,
  ) {
    this.byId = new Map(equations.map((equation) => [equation.id, equation]));
  }

  /** Frames in one source, innermost first. */
  places(id: number, source: number): FrameJson[] {
    const frames = this.byId.get(id)?.frames ?? [];
    if (this.callers) return frames.filter((frame) => frame.source === source);
    const own = frames.find((frame) => frame.source !== null);
    return own?.source === source ? [own] : [];
  }

  /** Equations nested in these at any depth: the body of an inner `jit` or of a loop. */
  inside(ids: Iterable<number>): Set<number> {
    if (!this.children) {
      this.children = new Map();
      for (const { id, parent } of this.byId.values()) {
        if (parent !== null) push(this.children, parent, id);
      }
    }
    const found = new Set<number>();
    const waiting = [...ids];
    for (let id = waiting.pop(); id !== undefined; id = waiting.pop()) {
      for (const child of this.children.get(id) ?? []) {
        if (found.has(child)) continue;
        found.add(child);
        waiting.push(child);
      }
    }
    return found;
  }

  /** The direct parents of these equations. */
  around(ids: Iterable<number>): Set<number> {
    const found = new Set<number>();
    for (const id of ids) {
      const parent = this.byId.get(id)?.parent ?? null;
      if (parent !== null) found.add(parent);
    }
    return found;
  }

  /** equation → its defining line: the innermost in a source. */
  homes(source: number): ReadonlyMap<number, number> {
    return cached(this.homeCache, source, () => {
      const map = new Map<number, number>();
      for (const id of this.byId.keys()) {
        const [place] = this.places(id, source);
        if (place) map.set(id, place.span[0]);
      }
      return map;
    });
  }

  /** line → the first line of the expression that it is part of. */
  owners(source: number): Map<number, number> {
    const map = new Map<number, number>();
    for (const line of this.homes(source).values()) map.set(line, line);
    for (const id of this.homes(source).keys()) {
      const [place] = this.places(id, source);
      if (!place || place.span[0] === place.span[2]) continue;
      for (let line = place.span[0]; line <= place.span[2]; line++) {
        if (!map.has(line)) map.set(line, place.span[0]);
      }
    }
    return map;
  }

  /** Lines of the innermost frame of an equation in a source. */
  own(id: number, source: number): number[] {
    const [place] = this.places(id, source);
    if (!place) return [];
    const [first, , last] = place.span;
    return Array.from({ length: last - first + 1 }, (_, i) => first + i);
  }

  /** All lines that the frames of an equation cover. */
  lines(id: number, source: number): Set<number> {
    const lines = new Set<number>();
    for (const { span } of this.places(id, source)) {
      for (let line = span[0]; line <= span[2]; line++) lines.add(line);
    }
    return lines;
  }

  /** source line → equations. */
  byLine(source: number): ReadonlyMap<number, number[]> {
    return cached(this.lineCache, source, () => {
      const map = new Map<number, number[]>();
      for (const id of this.byId.keys()) {
        for (const line of this.lines(id, source)) push(map, line, id);
      }
      return map;
    });
  }

  /** The equations of the smallest expression around a column of a line. */
  at(source: number, line: number, column: number): Set<number> {
    let best: number[] = [];
    let size = Number.POSITIVE_INFINITY;
    for (const id of this.byLine(source).get(line) ?? []) {
      for (const { span } of this.places(id, source)) {
        const [first, start, last, end] = span;
        if (line < first || (line === first && column < start)) continue;
        if (line > last || (line === last && column >= end)) continue;
        const length = 1e6 * (last - first) + end - start;
        if (length < size) {
          size = length;
          best = [];
        }
        if (length === size) best.push(id);
      }
    }
    return new Set(best);
  }
}

export interface LineOrigin {
  equations: readonly number[];
  exact: boolean;
  why: string;
}

/** The anchors of a stage, by line and by equation. */
export class Anchors {
  readonly byLine: ReadonlyMap<number, LineOrigin>;
  /** Made for the first selection: the lines in sight at first need none. */
  private equationLines: ReadonlyMap<number, number[]> | undefined;

  /** `inexactWhy`: the reason of the inexact anchors that have none of their own. */
  constructor(anchors: readonly AnchorJson[], inexactWhy = "") {
    const found = new Map<number, LineOrigin>();
    for (const anchor of anchors) {
      const isExplained = anchor.exact || anchor.why;
      found.set(anchor.line, isExplained ? anchor : { ...anchor, why: inexactWhy });
    }
    this.byLine = found;
  }

  private get byEquation(): ReadonlyMap<number, number[]> {
    if (this.equationLines) return this.equationLines;
    const found = new Map<number, number[]>();
    for (const [line, { equations }] of this.byLine) {
      for (const id of equations) push(found, id, line);
    }
    this.equationLines = found;
    return found;
  }

  /** Lines that come from any of these equations, ascending. */
  lines(equations: Iterable<number>): number[] {
    const found = new Set<number>();
    for (const id of equations) for (const line of this.byEquation.get(id) ?? []) found.add(line);
    // As in Python: approximate matches count only where there is no exact one.
    const sure = [...found].filter((line) => this.byLine.get(line)?.exact);
    return (sure.length ? sure : [...found]).sort((a, b) => a - b);
  }
}

/** The lines of a different stage that came from these equations.
 *
 * Where it has none for them, such as for a nested `jit`: those of the equations inside, else of the parents.
 */
export function between(equations: Equations, ids: Iterable<number>, there: Anchors): number[] {
  const wanted = [...ids];
  const found = there.lines(wanted);
  if (found.length) return found;
  const inside = there.lines(equations.inside(wanted));
  return inside.length ? inside : there.lines(equations.around(wanted));
}
