/** The instruction at which the graph starts. */

import { costliest } from "../ir/figures";
import type { ReportModel, Selection } from "../model";
import type { Module } from "./hlo";

const KIND = "optimized_hlo";
/** Opcodes without work: a graph starts at one of them only where it is selected. */
const PLAIN = new Set(["parameter", "constant", "tuple", "get-tuple-element", "bitcast"]);

/** The instruction of a selection, the same to which the text pane scrolls; null where there is none. */
export function chosen(model: ReportModel, module: Module, selection: Selection): number | null {
  const own = selection.origin === KIND || selection.origin === "graph";
  const { hot, soft } = own ? { hot: [selection.line], soft: [] } : model.linesOf(KIND, selection);
  const lines = (hot.length ? hot : soft).filter((line) => module.atLine(line));
  const line = costliest(lines, model.instructions);
  return line === undefined ? null : (module.atLine(line)?.index ?? null);
}

/** The costliest instruction outside of fusions; without figures, the first work before the result. */
export function hottest(model: ReportModel, module: Module): number {
  const works = module.instructions.filter(
    ({ opcode, computation }) => !PLAIN.has(opcode) && !module.isFused(computation),
  );
  const known = works.filter(({ line }) => {
    const row = model.instructions[String(line)];
    return row?.share || row?.bytes;
  });
  const line = costliest(
    known.map((each) => each.line),
    model.instructions,
  );
  const found = line === undefined ? undefined : module.atLine(line);
  return found?.index ?? workBefore(module, module.entry?.root ?? 0);
}

/** The nearest instruction with work that a result is made of; the result where there is none. */
function workBefore(module: Module, result: number): number {
  const before = new Set([result]);
  for (const index of before) {
    const instruction = module.instructions[index];
    if (instruction && !PLAIN.has(instruction.opcode)) return index;
    for (const operand of instruction?.operands ?? []) before.add(operand);
  }
  return result;
}
