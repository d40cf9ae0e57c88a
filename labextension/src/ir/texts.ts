/** Cached lines of the stages' texts, and fusions of the optimized HLO. */

import { splitLines } from "../links";
import type { ReportModel } from "../model";
import type { StageJson, StageKind } from "../schema/report";
import { Fusions, instructionName } from "./fusions";
import type { Texts } from "./status";

export class StageTexts implements Texts {
  private readonly cutLines = new WeakMap<StageJson, string[]>();
  private readonly found = new WeakMap<StageJson, Fusions>();

  constructor(private readonly model: ReportModel) {}

  lines(kind: StageKind): readonly string[] {
    const stage = this.stage(kind);
    if (!stage) return [];
    let lines = this.cutLines.get(stage);
    if (!lines) {
      lines = splitLines(stage.text);
      this.cutLines.set(stage, lines);
    }
    return lines;
  }

  fusions(): Fusions | null {
    const stage = this.stage("optimized_hlo");
    if (!stage) return null;
    let fusions = this.found.get(stage);
    if (!fusions) {
      fusions = new Fusions(this.lines("optimized_hlo"));
      this.found.set(stage, fusions);
    }
    return fusions;
  }

  name(line: number): string {
    return instructionName(this.lines("optimized_hlo")[line - 1] ?? "");
  }

  private stage(kind: StageKind): StageJson | null {
    const text = this.model.text(kind);
    return "stage" in text ? text.stage : null;
  }
}
