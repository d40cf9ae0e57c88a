/** The line at which a stage opens. */

import { splitLines } from "../links";
import type { InstructionFiguresJson, StageKind } from "../schema/report";
import { costliest } from "./figures";

/** The slowest instruction of a profiled program; else, in HLO, the entry computation, which follows the
 *  computations that it calls; else the first line. */
export function openingLine(
  kind: StageKind,
  text: string,
  rows: Readonly<Record<string, InstructionFiguresJson>>,
): number {
  if (kind !== "hlo" && kind !== "optimized_hlo") return 1;
  const timed = Object.keys(rows).filter((line) => rows[line]?.share);
  const slowest = kind === "optimized_hlo" ? costliest(timed.map(Number), rows) : undefined;
  return slowest ?? entryLine(text);
}

/** The line of the entry computation; the first where there is none. */
function entryLine(text: string): number {
  if (text.startsWith("ENTRY ")) return 1;
  const at = ["\nENTRY ", "\rENTRY "].map((start) => text.indexOf(start)).find((at) => at >= 0);
  return at === undefined ? 1 : splitLines(text.slice(0, at + 1)).length + 1;
}
