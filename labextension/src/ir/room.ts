/** The context that the panes of one viewer share. */

import type { ReportModel } from "../model";
import type { Settings } from "./settings";
import type { StageTexts } from "./texts";

export interface Room {
  readonly model: ReportModel;
  readonly settings: Settings;
  readonly texts: StageTexts;
  /** source line → hue, for the shown source. */
  hues(): ReadonlyMap<number, number>;
}
