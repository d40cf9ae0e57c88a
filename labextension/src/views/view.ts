/** One part of the viewer. */

import type { ReportModel } from "../model";

export interface View {
  readonly element: HTMLElement;
  /** It has become visible, or its size has changed. */
  shown?(): void;
  dispose?(): void;
}

/** A view depends on the model alone, never on the host. */
export type MakeView = (model: ReportModel) => View;
