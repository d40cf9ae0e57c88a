/** One part of the viewer. */

import type { ReportModel } from "../model";

export interface View {
  readonly element: HTMLElement;
  /** It has come to sight, or its room has changed. */
  shown?(): void;
  dispose?(): void;
}

/** A view is made from the model alone; it listens to the model and knows no host. */
export type MakeView = (model: ReportModel) => View;
