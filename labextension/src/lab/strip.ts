/** A strip of the session: the time of each cell, and how much of it was compilation. */

import { element } from "../dom";
import { seconds } from "../words";
import type { Stretch } from "./compiles";

/** Below this share of the session a cell is narrower than a pixel. */
const LEAST = 0.002;

/** Null where no cell has ended yet. */
export function stripOf(all: readonly Stretch[]): HTMLElement | null {
  const total = sum(all, (one) => one.seconds);
  if (!total) return null;
  const compiling = sum(all, (one) => one.compiling);
  const bar = element("div", "jxs-strip-bar");
  for (const one of all) {
    if (one.seconds < LEAST * total) continue;
    const cell = element("span", "jxs-strip-cell");
    cell.style.flexGrow = String(one.seconds);
    cell.title = `In [${one.cell}]: ${seconds(one.seconds)}, ${seconds(one.compiling)} of it compiling`;
    const part = element("span", "jxs-strip-compiling");
    part.style.width = `${(100 * one.compiling) / one.seconds}%`;
    cell.append(part);
    bar.append(cell);
  }
  const words = `cells ${seconds(total)}, ${seconds(compiling)} of it compiling`;
  bar.setAttribute("role", "img");
  bar.setAttribute("aria-label", words);
  return element("div", "jxs-strip", bar, element("span", "jxs-strip-words", words));
}

function sum(all: readonly Stretch[], of: (one: Stretch) => number): number {
  return all.reduce((total, one) => total + of(one), 0);
}
