/** The services of the place that shows a report: JupyterLab, a widget, or an exported page. */

import type { NextStepJson, StageAnswerJson, StageDiffJson, StageKind } from "./schema/report";

/** The reason why a text that was not saved is unavailable now. */
export type Absence = "no-kernel" | "gone" | "forgotten" | "restarted" | "error";

export class TextAbsent extends Error {
  constructor(
    readonly absence: Absence,
    message = "",
  ) {
    super(message);
  }
}

/** The seconds of an answer to a question for a price. */
export function readPrice(answer: unknown): number {
  const seconds = (answer as { seconds?: unknown } | null)?.seconds;
  return typeof seconds === "number" ? seconds : 0;
}

export const INCOMPLETE = "The kernel's answer is incomplete.";

export interface Host {
  readonly name: "lab" | "widget" | "page";
  /** Rejects with `TextAbsent`. Undefined where there is no kernel. */
  fetchStage?(report: string, program: number, kind: StageKind): Promise<StageAnswerJson>;
  /** Seconds of the compilation that a text needs; 0 if unknown. The kernel prepares for it. */
  fetchPrice?(report: string, program: number, kind: StageKind): Promise<number>;
  /** The program before and after a pass of XLA. Rejects with `TextAbsent`. */
  fetchPass?(report: string, program: number, number: number): Promise<StageDiffJson>;
  /** Calls back when an absent text may be available again; returns the unsubscribe function. */
  onReturn?(callback: () => void): () => void;
  /** Calls back when the kernel is gone; returns the unsubscribe function. */
  onLoss?(callback: () => void): () => void;
  /** The next questions that the kernel can answer now. */
  nextSteps?(report: string): Promise<readonly NextStepJson[]>;
  /** Runs the code of a step, in a cell below the report or in its own. */
  take?(report: string, step: NextStepJson): void;
  /** Draws a plotly figure from Python with the host's own plotly; returns a function that removes it.
   *  Rejects with `TextAbsent`, or an Error whose message is a sentence. */
  drawFigure?(parent: HTMLElement, report: string, kind: string): Promise<() => void>;
  /** Opens the report in a panel of its own. */
  openBeside?(): void;
  /** Scrolls to a cell of the notebook, where there is one. */
  openCell?(cellId: string, line: number | null): void;
}
