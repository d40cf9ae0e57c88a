/** Two reports side by side: what changed in words, and the texts of each stage with their changes. */

import { StagesView } from "../diff/stages";
import { summaryView } from "../diff/summary";
import type { DiffDataJson } from "../schema/report";
import type { View } from "./view";

/** The parts of a comparison, for a list of tabs. */
export function diffParts(diff: DiffDataJson): { title: string; view: View }[] {
  const words = { title: "What changed", view: summaryView(diff) };
  if (!diff.stages.length) return [words];
  return [words, { title: "Stages side by side", view: new StagesView(diff.stages) }];
}
