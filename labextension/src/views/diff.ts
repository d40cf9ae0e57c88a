/** A comparison of two reports: a summary, and the texts of each stage side by side. */

import { StagesView } from "../diff/stages";
import { summaryView } from "../diff/summary";
import type { DiffDataJson } from "../schema/report";
import type { View } from "./view";

/** The tabs of a comparison. */
export function diffParts(diff: DiffDataJson): { title: string; view: View }[] {
  const words = { title: "What changed", view: summaryView(diff) };
  if (!diff.stages.length) return [words];
  return [words, { title: "Stages side by side", view: new StagesView(diff.stages) }];
}
