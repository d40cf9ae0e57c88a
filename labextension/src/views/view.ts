/** One part of the viewer. */

import type { ReportModel } from "../model";

export interface View {
  readonly element: HTMLElement;
  /** Its controls, beside the tabs while it is open. */
  readonly controls?: HTMLElement;
  /** It has become visible, or its size has changed. */
  shown?(): void;
  dispose?(): void;
}

/** A view depends on the model alone, never on the host. */
export type MakeView = (model: ReportModel) => View;
