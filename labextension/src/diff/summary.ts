/** The summary of a comparison of two reports: everything but the stages. */

import { element } from "../dom";
import type { DiffDataJson } from "../schema/report";
import { sectionNode } from "../views/tab";
import type { View } from "../views/view";

export function summaryView(diff: DiffDataJson): View {
  const node = element("div", "jxs-tab jxs-prose jxs-summary");
  for (const note of diff.notes) node.append(element("p", "muted", note));
  for (const section of diff.tabs.flatMap((tab) => tab.sections)) {
    node.append(sectionNode(section, () => undefined));
  }
  if (!node.childElementCount)
    node.append(element("p", "jxs-nothing", "The two reports do not differ."));
  return { element: node };
}
