/** The instruction that represents a selection in the graph. */

import type { ReportModel, Selection } from "../model";
import type { Module } from "./hlo";

const KIND = "optimized_hlo";
/** Opcodes without work: a graph starts at one of them only where there is no other. */
const PLAIN = new Set(["parameter", "constant", "tuple", "get-tuple-element", "bitcast"]);

/** The selected instruction; else, of those linked to the selected line, the most informative one:
 *  outside of fusions, with work, the costliest. Null where there is none. */
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
