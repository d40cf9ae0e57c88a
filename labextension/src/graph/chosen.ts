/** Which instruction stands for a selection. */

import type { ReportModel, Selection } from "../model";
import type { Module } from "./hlo";

const KIND = "optimized_hlo";
/** No operation of the program: a graph does not start at one where there is another. */
const PLAIN = new Set(["parameter", "constant", "tuple", "get-tuple-element", "bitcast"]);

/** The very instruction where one was selected; else, of those that a line became, the one that
 *  tells most: no part of a fusion, an operation, the costliest. Null where there is none. */
export function chosen(model: ReportModel, module: Module, selection: Selection): number | null {
  const own = selection.origin === KIND || selection.origin === "graph";
  const lines = own ? [selection.line] : model.linesOf(KIND, selection).hot;
  let best: number | null = null;
  let most: readonly number[] = [];
  for (const line of lines) {
    const found = module.atLine(line);
    if (!found) continue;
    const figures = model.instructions[String(line)];
    const weight = [
      module.isFused(found.computation) ? 0 : 1,
      PLAIN.has(found.opcode) ? 0 : 1,
      figures?.share ?? 0,
      figures?.flops ?? 0,
    ];
    const differs = weight.findIndex((each, i) => each !== most[i]);
    if (best !== null && (weight[differs] ?? 0) <= (most[differs] ?? 0)) continue;
    most = weight;
    best = found.index;
  }
  return best;
}
