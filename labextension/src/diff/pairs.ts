/** Corresponding lines of two texts. */

import { splitLines } from "../links";
import type { DiffGroupJson } from "../schema/report";

export type Fate = "added" | "removed" | "changed";

export interface Change {
  before: number | null;
  after: number | null;
  /** Index of its group. */
  group: number;
}

/** Every changed line once, in the order of the texts. */
export function changesOf(groups: readonly DiffGroupJson[]): Change[] {
  const all = groups.flatMap(({ changes }, group) =>
    changes.map(([before, after]) => ({ before, after, group })),
  );
  return all.sort((a, b) => place(a) - place(b));
}

function place({ before, after }: Change): number {
  return after ?? before ?? 0;
}

export function fate({ before, after }: Change): Fate {
  if (before === null) return "added";
  return after === null ? "removed" : "changed";
}

/** line → line of the other text, for the unchanged lines.
 *
 * Lines that did not move are in the same order on both sides. Those that moved are matched by their
 * words, without the numbers of names.
 */
export function sameLines(
  before: string,
  after: string,
  changes: readonly Change[],
): { later: Map<number, number>; earlier: Map<number, number> } {
  const left = unchanged(
    before,
    changes.map((each) => each.before),
  );
  const right = unchanged(
    after,
    changes.map((each) => each.after),
  );
  const later = new Map<number, number>();
  const earlier = new Map<number, number>();
  const join = (a: number, b: number) => {
    later.set(a, b);
    earlier.set(b, a);
  };
  const open: Line[] = [];
  left.forEach((line, i) => {
    const other = right[i];
    if (other && other.words === line.words) join(line.number, other.number);
    else open.push(line);
  });
  const waiting = new Map<string, number[]>();
  for (const { number, words } of right) {
    if (earlier.has(number)) continue;
    const list = waiting.get(words);
    if (list) list.push(number);
    else waiting.set(words, [number]);
  }
  for (const { number, words } of open) {
    const other = waiting.get(words)?.shift();
    if (other !== undefined) join(number, other);
  }
  return { later, earlier };
}

interface Line {
  number: number;
  words: string;
}

function unchanged(text: string, changed: readonly (number | null)[]): Line[] {
  const left = new Set(changed);
  return splitLines(text)
    .map((line, i) => ({ number: i + 1, words: unnumbered(line) }))
    .filter(({ number }) => !left.has(number));
}

/** A line without the numbers that a recompilation changes, and without its source location. */
export function unnumbered(line: string): string {
  return line
    .replace(/,? ?metadata=\{[^{}]*\}/g, "")
    .replace(/%[\w.-]+|#loc\d*/g, "%")
    .replace(/\b[a-z]{1,3}(?=:[a-z]+\d*\[)/g, "_")
    .replace(/(?<=[\s(])[a-z]{1,3}(?=[\s,)]|$)/g, "_")
    .trim();
}
