/** Styles of lines: the color of their source line, findings, eliminated and approximate lines. */

import { cached, type LineOrigin } from "../links";
import type { ReportModel } from "../model";
import type { EquationJson, Phase, StageKind } from "../schema/report";
import type { Dress, LineDress } from "../text/look";

export const PHASES: Readonly<Record<Phase, string>> = {
  primal: "",
  forward: "forward pass",
  backward: "backward pass",
  rematerialized: "rematerialized forward work",
};

/** equation → the reason why it was eliminated. */
export function eliminatedOf(model: ReportModel): ReadonlyMap<number, string> {
  const eliminated = model.figures?.eliminated ?? [];
  return new Map(eliminated.map(({ equation, reason }) => [equation, reason]));
}

/** Whether some equation of the program belongs to a backward pass. */
export function differentiates(model: ReportModel): boolean {
  const isBackward = ({ phase }: EquationJson) =>
    phase === "backward" || phase === "rematerialized";
  return (model.programJson?.equations ?? []).some(isBackward);
}

export function sourceDress(
  model: ReportModel,
  hues: ReadonlyMap<number, number>,
): Map<number, LineDress> {
  const dress = new Map<number, LineDress>();
  for (const [line, hue] of hues) dress.set(line, { hue });
  for (const [line, reason] of eliminatedLines(model)) {
    dress.set(line, { ...dress.get(line), dim: reason });
  }
  for (const { line, source, message } of model.data.record.findings) {
    if (line !== null && source === model.source) {
      dress.set(line, { ...dress.get(line), flag: message });
    }
  }
  return dress;
}

/** Source lines all of whose own equations were eliminated, with the reason of the last. */
export function eliminatedLines(model: ReportModel): Map<number, string> {
  const eliminated = eliminatedOf(model);
  const found = new Map<number, string>();
  if (!eliminated.size) return found;
  const seen = new Set<number>();
  for (const [id, line] of model.equations.homes(model.source)) {
    const reason = eliminated.get(id);
    if (reason === undefined) seen.add(line);
    else found.set(line, reason);
  }
  for (const line of seen) found.delete(line);
  return found;
}

export function stageDress(
  model: ReportModel,
  kind: StageKind,
  hues: ReadonlyMap<number, number>,
): Dress {
  const made = new Map<number, LineDress>();
  const homes = model.equations.homes(model.source);
  const byId = model.equations.byId;
  const eliminated = kind === "jaxpr" ? eliminatedOf(model) : new Map<number, string>();
  const { byLine } = model.anchors(kind);
  const styled = ({ equations, exact }: LineOrigin): LineDress => {
    const look: LineDress = {};
    // The hue of the first equation with a defining line in this source.
    const home = equations.find((id) => homes.has(id));
    const hue = home === undefined ? undefined : hues.get(homes.get(home) ?? -1);
    if (hue !== undefined) look.hue = hue;
    if (!exact) look.inexact = true;
    const phase = exact ? byId.get(equations[0] ?? -1)?.phase : undefined;
    if (phase === "backward" || phase === "rematerialized") look.phase = phase;
    const reasons = equations.map((id) => eliminated.get(id));
    const reason = reasons[0];
    if (reason !== undefined && reasons.every((each) => each !== undefined)) look.dim = reason;
    return look;
  };
  return {
    get(line) {
      const anchor = byLine.get(line);
      return anchor && cached(made, line, () => styled(anchor));
    },
  };
}
