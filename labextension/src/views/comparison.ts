/** A comparison of implementations: markup from Python, in the style of its page. */

import { element } from "../dom";
import { markupNodes } from "../markup";

export function comparisonNode(markup: string, notes: readonly string[]): HTMLElement {
  const lines = notes.map((note) => element("p", "jxs-note", note));
  const lead = () => {};
  return element("div", "jxs-comparison", ...lines, markupNodes(markup, lead));
}
