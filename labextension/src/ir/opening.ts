/** The line at which a text opens. */

import type { InstructionFiguresJson, StageKind } from "../schema/report";
import { costliest } from "./figures";

/** The upper share of a pane: below a line there, the following lines are visible, too. */
export const FOLLOWED = 0.5;

/** The slowest instruction of a profiled program; else, in HLO, the entry computation, which follows the
 *  computations that it calls; else the first line. */
export function openingLine(
  kind: StageKind,
  lines: readonly string[],
  rows: Readonly<Record<string, InstructionFiguresJson>>,
): number {
  if (kind !== "hlo" && kind !== "optimized_hlo") return 1;
  const timed: number[] = [];
  if (kind === "optimized_hlo") {
    for (let line = 1; line <= lines.length; line++) if (rows[line]?.share) timed.push(line);
  }
  const slowest = costliest(timed, rows);
  return slowest ?? entryLine(lines);
}

/** The line of the entry computation; the first where there is none. */
function entryLine(lines: readonly string[]): number {
  return (
    Math.max(
      0,
      lines.findIndex((line) => line.startsWith("ENTRY ")),
    ) + 1
  );
}
