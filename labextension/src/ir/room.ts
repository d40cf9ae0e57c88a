/** The context that the panes of one viewer share. */

import type { ReportModel } from "../model";
import type { Measure } from "./figures";
import type { Settings } from "./settings";
import type { StageTexts } from "./texts";

export interface Room {
  readonly model: ReportModel;
  readonly settings: Settings;
  readonly texts: StageTexts;
  /** source line → hue, for the shown source. */
  hues(): ReadonlyMap<number, number>;
  /** The figure beside the lines. */
  measure(): Measure | undefined;
  choose(measure: Measure): void;
  /** Goes to the next or the previous match of the search. */
  step(by: number): void;
}
