/** The findings: line, message, fix. Each line is a link. */

import { markupNodes } from "../markup";
import type { ReportModel } from "../model";
import type { View } from "./view";

/** An empty, hidden element where there are no findings. */
export function findingsView(model: ReportModel): View {
  const element = document.createElement("section");
  element.className = "jxs-findings jxs-prose";
  element.setAttribute("aria-label", "Findings");
  const number = model.data.record.findings.length;
  element.hidden = !model.data.findings;
  if (element.hidden) return { element };

  const heading = document.createElement("h2");
  heading.textContent = number === 1 ? "1 finding" : `${number} findings`;
  const lead = (source: number, line: number) => model.goTo(source, line);
  element.append(heading, markupNodes(model.data.findings, lead));
  const links = [...element.querySelectorAll<HTMLButtonElement>("button.jxs-link")];
  for (const link of links) link.setAttribute("aria-label", `Go to ${link.textContent}`);

  element.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const at = links.indexOf(document.activeElement as HTMLButtonElement);
    if (!step || at < 0) return;
    event.preventDefault();
    links[Math.min(Math.max(at + step, 0), links.length - 1)]?.focus();
  });

  // Findings on the pinned line are marked, whichever view pinned it.
  const items = [...element.querySelectorAll("ol.findings > li")];
  const mark = () => {
    const pinned = model.pinned;
    items.forEach((item, i) => {
      const finding = model.data.record.findings[i];
      const here =
        (pinned?.origin === "source" || pinned?.origin === "tab") &&
        finding?.line === pinned.line &&
        finding.source === model.source;
      item.classList.toggle("jxs-here", here);
      if (here) item.setAttribute("aria-current", "true");
      else item.removeAttribute("aria-current");
    });
  };
  mark();
  return { element, dispose: model.on("selection", mark) };
}
