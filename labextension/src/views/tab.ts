/** One tab of words, tables and pictures that Python set, for the chosen program. */

import { type Absence, TextAbsent } from "../host";
import { type Lead, markupNodes } from "../markup";
import type { ReportModel } from "../model";
import type { Tab, TabSection } from "../report";
import type { View } from "./view";

/** Why a figure, which only a running Python can draw, cannot be had. */
const ABSENT: Record<Absence, string> = {
  "no-kernel": "Interactive figures are drawn by Python, and no kernel is connected.",
  gone: "The kernel no longer has this report: run its cell again for interactive figures.",
  restarted: "The kernel was restarted: run the cell again for interactive figures.",
  error: "The kernel could not draw this figure.",
};

export function tabView(model: ReportModel, tab: Tab): View {
  const element = document.createElement("div");
  element.className = "jxs-tab jxs-prose";
  const made = new Map<TabSection, HTMLElement>();
  const figures = model.host.drawFigure
    ? (tab.figures ?? []).map((kind) => figure(model, kind))
    : [];
  const room = document.createElement("div");
  room.className = "jxs-plots";
  room.append(...figures.map((each) => each.element));

  const draw = () => {
    const shown = tab.sections.filter(
      (section) => section.program === null || section.program === model.program,
    );
    const nodes = shown.map((section) => {
      let node = made.get(section);
      if (!node) {
        node = sectionNode(section, (source, line) => model.goTo(source, line));
        made.set(section, node);
      }
      return node;
    });
    if (nodes.length === 0) {
      const nothing = document.createElement("p");
      nothing.className = "jxs-nothing";
      nothing.textContent = `There is nothing about this program under “${tab.title}”.`;
      nodes.push(nothing);
    }
    element.replaceChildren(...(figures.length ? [room] : []), ...nodes);
  };
  draw();
  const stop = model.on("program", draw);
  const dispose = () => {
    stop();
    for (const each of figures) each.dispose();
  };
  return { element, dispose };
}

/** A section with its heading; its links call `lead`. */
export function sectionNode(section: TabSection, lead: Lead): HTMLElement {
  const node = document.createElement("section");
  if (section.heading) {
    const heading = document.createElement("h3");
    heading.textContent = section.heading;
    node.append(heading);
  }
  node.append(markupNodes(section.markup, lead));
  for (const link of node.querySelectorAll("button.jxs-link")) {
    link.setAttribute("aria-label", `Go to line ${link.textContent}`);
  }
  // A wide table scrolls by itself and leaves the page where it is.
  for (const table of node.querySelectorAll("table")) {
    const scroll = document.createElement("div");
    scroll.className = "jxs-wide";
    table.replaceWith(scroll);
    scroll.append(table);
  }
  return node;
}

interface Figure {
  element: HTMLElement;
  dispose(): void;
}

/** A button that asks for the figure, and the place where it is drawn. */
function figure(model: ReportModel, kind: string): Figure {
  const element = document.createElement("div");
  element.className = "jxs-plot";
  const button = document.createElement("button");
  button.type = "button";
  button.className = "jxs-button";
  const said = document.createElement("span");
  said.setAttribute("role", "status");
  const place = document.createElement("div");
  element.append(button, said, place);

  let remove: (() => void) | null = null;
  let gone = false;
  const name = `interactive figure: ${kind.replace(/_/g, " ")}`;
  const rest = () => {
    button.textContent = remove ? `Hide ${name}` : `Show ${name}`;
    button.setAttribute("aria-expanded", String(remove !== null));
    button.disabled = false;
  };
  rest();
  button.addEventListener("click", async () => {
    if (remove) {
      remove();
      remove = null;
      place.replaceChildren();
      return rest();
    }
    button.disabled = true;
    said.textContent = "Asking Python for the figure …";
    try {
      const drawn = await model.host.drawFigure?.(place, model.payload.id, kind);
      if (gone) return drawn?.();
      remove = drawn ?? null;
      said.textContent = "";
    } catch (error) {
      said.textContent = reason(error);
    }
    rest();
  });
  const dispose = () => {
    gone = true;
    remove?.();
  };
  return { element, dispose };
}

function reason(error: unknown): string {
  if (!(error instanceof TextAbsent)) return error instanceof Error ? error.message : String(error);
  const detail = error.absence === "error" && error.message ? ` It said: ${error.message}` : "";
  return `${ABSENT[error.absence]}${detail}`;
}
