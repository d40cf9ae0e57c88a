/** What a place that shows reports can do for it: JupyterLab, a widget, or a page on its own. */

import type { StageAnswerJson, StageKind } from "./schema/report";

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

export const INCOMPLETE = "The kernel's answer is incomplete.";

export interface Host {
  readonly name: "lab" | "widget" | "page";
  /** Rejects with `TextAbsent`. Absent where there is nobody to ask. */
  fetchStage?(report: string, program: number, kind: StageKind): Promise<StageAnswerJson>;
  /** Calls back when a text that was absent may be had again; returns what stops it. */
  onReturn?(callback: () => void): () => void;
  /** Draws a plotly figure that Python makes, with the host's own plotly; returns what removes it.
   *  Rejects with `TextAbsent`, or an Error whose message is a sentence. */
  drawFigure?(parent: HTMLElement, report: string, kind: string): Promise<() => void>;
  /** Leads to a cell of the notebook, where there is one. */
  openCell?(cellId: string, line: number | null): void;
}
