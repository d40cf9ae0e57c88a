/** What a place that shows reports can do for it: JupyterLab, a widget, or a page on its own. */

import type { Eliminated, EquationJson, InstructionFigures, StageJson, StageKind } from "./report";

/** Why a text that was not saved cannot be had now. */
export type Absence = "no-kernel" | "gone" | "forgotten" | "restarted" | "error";

export class TextAbsent extends Error {
  constructor(
    readonly absence: Absence,
    message = "",
  ) {
    super(message);
  }
}

/** One stage as the kernel answers it. */
export interface StageAnswer {
  stage: StageJson;
  /** With the optimized HLO. */
  instructions?: Record<string, InstructionFigures>;
  /** With the StableHLO and the optimized HLO, which tell it together. */
  eliminated?: Eliminated[];
  merged?: Eliminated[];
  /** Of a large program, whose equations the saved output may have left out. */
  equations?: EquationJson[];
}

export interface Host {
  readonly name: "lab" | "widget" | "page";
  /** Rejects with `TextAbsent`. Absent where there is nobody to ask. */
  fetchStage?(report: string, program: number, kind: StageKind): Promise<StageAnswer>;
  /** Calls back when a text that was absent may be had again; returns what stops it. */
  onReturn?(callback: () => void): () => void;
  /** Draws a plotly figure that Python makes, with the host's own plotly; returns what removes it.
   *  Rejects with `TextAbsent`, or an Error whose message is a sentence. */
  drawFigure?(parent: HTMLElement, report: string, kind: string): Promise<() => void>;
  /** Leads to a cell of the notebook, where there is one. */
  openCell?(cellId: string, line: number | null): void;
}
