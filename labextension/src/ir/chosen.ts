/** The stages shown side by side: pure rules on lists of kinds. */

import { STAGE_KIND_ON_REQUEST, STAGE_KINDS, type StageKind } from "../schema/report";
import type { Language } from "../text/tokens";

export const MOST = 4;

export const LANGUAGES: Readonly<Record<StageKind, Language>> = {
  jaxpr: "jaxpr",
  stablehlo: "mlir",
  hlo: "hlo",
  passes: "hlo",
  remarks: "hlo",
  optimized_hlo: "hlo",
  thunks: "hlo",
  llvm: "llvm",
  llvm_optimized: "llvm",
  ptx: "kernel",
  asm: "asm",
  sass: "kernel",
  llo: "kernel",
};

/** Width of a viewer in pixels from which source and stages are side by side. */
export const SIDE_BY_SIDE = 760;
/** … in a compact report, which has one stage. */
export const COMPACT_SIDE_BY_SIDE = 560;
/** … and from which two stages fit. */
export const TWO_STAGES = 1180;

/** The stages open at first: the optimized HLO, and the first one, the trace. */
export function firstKinds(width: number, missing: readonly StageKind[] = []): StageKind[] {
  const there = STAGE_KINDS.filter(
    (kind) => !missing.includes(kind) && !STAGE_KIND_ON_REQUEST.includes(kind),
  );
  const [traced] = there;
  const last = there.at(-1);
  if (!traced || !last) return ["optimized_hlo"];
  return width >= TWO_STAGES && traced !== last ? [traced, last] : [last];
}

/** One more pane, of the first kind that is not open; at most `MOST`. */
export function added(open: readonly StageKind[]): StageKind[] {
  if (open.length >= MOST) return [...open];
  return [...open, STAGE_KINDS.find((kind) => !open.includes(kind)) ?? "jaxpr"];
}

/** One pane less; the last one stays. */
export function closed(open: readonly StageKind[], index: number): StageKind[] {
  return open.length > 1 ? open.filter((_, i) => i !== index) : [...open];
}

/** A different kind in one pane. A kind that is open elsewhere swaps places with it. */
export function chosen(open: readonly StageKind[], index: number, kind: StageKind): StageKind[] {
  const before = open[index];
  if (before === undefined) return [...open];
  return open.map((each, i) => (i === index ? kind : each === kind ? before : each));
}
