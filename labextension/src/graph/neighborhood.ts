/** The visible instructions: the neighbors of one, and those added by clicks. */

import type { Computation, Module } from "./hlo";

/** Maximal number of visible instructions. */
export const MOST = 200;
/** Instructions around the first one. */
const START = 16;
/** Instructions that one click adds at most; the rest stays behind a stub. */
const STEP = 12;
/** Instructions shown of a computation that is opened. */
const INSIDE = 40;

/** Opcodes whose computation has the operands as its parameters and can be shown in place. */
const INLINE = new Set(["fusion", "call"]);

export type Side = "above" | "below";

export class Neighborhood {
  readonly shown = new Set<number>();
  /** Instructions replaced by their computation. */
  readonly opened = new Set<number>();

  constructor(
    readonly module: Module,
    center: number,
    private readonly most = MOST,
  ) {
    this.start(center);
  }

  /** Whether an instruction can be replaced by its computation. */
  canOpen(index: number): boolean {
    const instruction = this.module.instructions[index];
    if (!instruction || !INLINE.has(instruction.opcode)) return false;
    return instruction.called.length === 1 && (this.inner(index)?.root ?? -1) >= 0;
  }

  /** The first computation that an instruction calls. */
  private inner(index: number): Computation | undefined {
    return this.module.computations[this.module.instructions[index]?.called[0] ?? -1];
  }

  /** Called computations that are entered instead of shown in place, the largest first: the body of a
   *  loop before its condition. */
  leadsTo(index: number): readonly number[] {
    if (this.canOpen(index)) return [];
    const called = this.module.instructions[index]?.called ?? [];
    return called
      .filter((each) => (this.module.computations[each]?.root ?? -1) >= 0)
      .sort((a, b) => this.length(b) - this.length(a));
  }

  /** The opened instruction around an instruction; -1 where there is none. */
  parent(index: number): number {
    const computation = this.module.instructions[index]?.computation ?? -1;
    return this.module.callers(computation).find((caller) => this.opened.has(caller)) ?? -1;
  }

  /** Its operands, or its users; an opened computation replaces its instruction. */
  next(index: number, side: Side): number[] {
    return side === "above" ? this.sources(index) : this.readers(index);
  }

  hidden(index: number, side: Side): number[] {
    return this.next(index, side).filter((each) => !this.shown.has(each));
  }

  get full(): boolean {
    return this.shown.size >= this.most;
  }

  /** Restarts around an instruction. Inside a small fusion, the fusion is opened. */
  start(center: number): void {
    this.shown.clear();
    this.opened.clear();
    const instruction = this.module.instructions[center];
    if (!instruction) return;
    this.shown.add(center);
    const size = (caller: number) => this.length(this.module.instructions[caller]?.called[0] ?? -1);
    const caller = this.module
      .callers(instruction.computation)
      .find((each) => this.canOpen(each) && size(each) <= INSIDE);
    if (caller !== undefined) {
      this.opened.add(caller);
      this.add(this.inside(caller), INSIDE);
    }
    this.spread([center], Math.max(START, this.shown.size + 4));
  }

  /** Shows the neighbors of an instruction; returns how many were left out. */
  grow(index: number, side?: Side): number {
    if (this.opened.has(index)) return 0;
    const sides: Side[] = side ? [side] : ["above", "below"];
    const wanted = sides.flatMap((each) => this.hidden(index, each));
    this.add(wanted, STEP);
    return this.full ? wanted.filter((each) => !this.shown.has(each)).length : 0;
  }

  /** Replaces an instruction by its computation, or the computation by its instruction again. */
  toggle(index: number): void {
    if (this.opened.has(index)) this.close(index);
    else if (this.canOpen(index)) this.open(index);
  }

  private open(index: number): void {
    const around = [...this.next(index, "above"), ...this.next(index, "below")];
    const kept = around.filter((each) => this.shown.has(each));
    this.opened.add(index);
    this.shown.delete(index);
    this.add(this.inside(index), INSIDE);
    // Its neighbors stay visible, although parameters are between them now.
    for (const each of kept) this.shown.add(each);
  }

  private close(index: number): void {
    for (const each of this.shown) if (this.isInside(each, index)) this.hide(each);
    for (const each of this.opened) if (this.isInside(each, index)) this.opened.delete(each);
    this.opened.delete(index);
    this.shown.add(index);
  }

  /** The visible box for an instruction: its own, or the result of its opened computation. */
  visibleFor(index: number): number | undefined {
    return [index, this.inner(index)?.root ?? -1].find((each) => this.shown.has(each));
  }

  hide(index: number): void {
    if (this.shown.size > 1) this.shown.delete(index);
  }

  private isInside(index: number, around: number): boolean {
    for (let at = this.parent(index); at >= 0; at = this.parent(at)) {
      if (at === around) return true;
    }
    return false;
  }

  private length(computation: number): number {
    const inner = this.module.computations[computation];
    return inner ? inner.end - inner.first : 0;
  }

  /** Instructions of its computation, from the root backwards, parameters last. */
  private inside(index: number): number[] {
    const inner = this.inner(index);
    if (!inner) return [];
    const found = new Set([inner.root]);
    for (const each of found) {
      for (const operand of this.module.instructions[each]?.operands ?? []) found.add(operand);
    }
    return [...found];
  }

  private add(indices: Iterable<number>, number: number): void {
    let left = number;
    for (const index of indices) {
      if (left <= 0 || this.full) return;
      if (this.shown.has(index)) continue;
      this.shown.add(index);
      left--;
    }
  }

  /** Adds the nearest ones until `until` are shown. */
  private spread(from: readonly number[], until: number): void {
    const seen = new Set(from);
    const queue = [...from];
    for (const index of queue) {
      for (const each of [...this.next(index, "above"), ...this.next(index, "below")]) {
        if (seen.has(each)) continue;
        if (this.shown.size >= until && !this.shown.has(each)) return;
        seen.add(each);
        this.shown.add(each);
        queue.push(each);
      }
    }
  }

  private sources(index: number): number[] {
    const instruction = this.module.instructions[index];
    if (!instruction) return [];
    const outer = instruction.parameter >= 0 ? this.parent(index) : -1;
    const read =
      outer < 0
        ? instruction.operands
        : [this.module.instructions[outer]?.operands[instruction.parameter] ?? -1];
    return unique(read.filter((each) => each >= 0).map((each) => this.innermostRoot(each)));
  }

  private readers(index: number): number[] {
    const instruction = this.module.instructions[index];
    if (!instruction) return [];
    const outer = instruction.root ? this.parent(index) : -1;
    // The users of its instruction are the users of the root of an opened computation.
    const out = outer >= 0 ? this.readers(outer) : [];
    for (const user of this.module.users(index)) {
      if (this.opened.has(user)) out.push(...this.parametersFor(user, index));
      else out.push(user);
    }
    return unique(out);
  }

  private innermostRoot(index: number): number {
    let at = index;
    while (this.opened.has(at)) {
      const root = this.inner(at)?.root ?? -1;
      if (root < 0) return at;
      at = root;
    }
    return at;
  }

  /** The parameters of an opened instruction that stand for one operand. */
  private parametersFor(opened: number, operand: number): number[] {
    const operands = this.module.instructions[opened]?.operands ?? [];
    const inner = this.inner(opened);
    const out: number[] = [];
    for (let i = inner?.first ?? 0; i < (inner?.end ?? 0); i++) {
      const parameter = this.module.instructions[i]?.parameter ?? -1;
      if (parameter >= 0 && operands[parameter] === operand) out.push(i);
    }
    return out;
  }
}

function unique(values: readonly number[]): number[] {
  return [...new Set(values)];
}
