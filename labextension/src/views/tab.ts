/** A tab of sentences, tables and pictures from Python, for the chosen program. */

import { shorten, sortable, switchChoices } from "../choices";
import { element, quoted } from "../dom";
import { type Absence, TextAbsent } from "../host";
import { cached } from "../links";
import { type Lead, markupNodes } from "../markup";
import type { ReportModel } from "../model";
import type { SectionJson, TabJson } from "../schema/report";
import type { View } from "./view";

/** The reason why an interactive figure is unavailable: it needs a running kernel. */
const ABSENT: Record<Absence, string> = {
  "no-kernel": "Interactive figures need a kernel, and no kernel is connected.",
  gone: "The kernel no longer has this report: run its cell again for interactive figures.",
  forgotten:
    "The kernel was restarted, or jaxscope was reloaded: run the cell again for interactive figures.",
  restarted: "The kernel was restarted: run the cell again for interactive figures.",
  error: "The kernel could not draw this figure.",
};

/** Characters up to which a cell is not wrapped, such as `70.6 µs … 84.9 µs`. */
const SHORT = 24;

/** `notes` of the run are above its sections. */
export function tabView(model: ReportModel, tab: TabJson, notes: readonly string[] = []): View {
  const root = element("div", "jxs-tab jxs-prose");
  const made = new Map<SectionJson, HTMLElement>();
  const figures = model.host.drawFigure
    ? (tab.figures ?? []).map((kind) => figure(model, kind))
    : [];
  const room = element("div", "jxs-plots");
  room.append(...figures.map((each) => each.element));
  const hint = figures.length || !tab.figures?.length ? [] : [inPython(tab.figures)];

  const draw = () => {
    const shown = tab.sections.filter(
      (section) => section.program === null || section.program === model.program,
    );
    const nodes = shown.map((section) => {
      const go: Lead = (source, line) => model.goTo(source, line);
      return cached(made, section, () => sectionNode(section, go));
    });
    if (nodes.length === 0) {
      const words = `“${tab.title}” has no section for this program.`;
      nodes.push(element("p", "jxs-nothing", words));
    }
    nodes.unshift(...notes.map((note) => element("p", "jxs-aside", ...quoted(note))));
    const around = figures.length ? [...nodes, room] : [...nodes, ...(shown.length ? hint : [])];
    root.replaceChildren(...around);
  };
  draw();
  const stop = model.on("program", draw);
  const dispose = () => {
    stop();
    for (const each of figures) each.dispose();
  };
  return { element: root, dispose };
}

/** A section with its heading; its links call `lead`. */
export function sectionNode(section: SectionJson, lead: Lead): HTMLElement {
  const node = document.createElement("section");
  if (section.heading) {
    const heading = document.createElement("h3");
    heading.textContent = section.heading;
    node.append(heading);
  }
  node.append(markupNodes(section.markup, lead));
  switchChoices(node);
  for (const table of node.querySelectorAll("table")) {
    if (table.classList.contains("sortable")) sortable(table);
    shorten(table);
  }
  for (const link of node.querySelectorAll("button.jxs-link")) {
    const words = link.textContent ?? "";
    link.setAttribute("aria-label", `Go to ${/^\W?\d/.test(words) ? "line " : ""}${words}`);
  }
  // Figures and names are not wrapped; longer texts are.
  for (const cell of node.querySelectorAll("td")) {
    if ((cell.textContent ?? "").length <= SHORT) cell.classList.add("jxs-short");
  }
  // A wide table scrolls on its own, not with the page.
  for (const table of node.querySelectorAll("table")) {
    const scroll = document.createElement("div");
    scroll.className = "jxs-wide";
    table.replaceWith(scroll);
    scroll.append(table);
  }
  return node;
}

/** How to draw the figures in Python, for hosts that cannot. */
function inPython(kinds: readonly string[]): HTMLElement {
  const calls = kinds.map((kind) => element("code", "", `report.plot("${kind}")`));
  const listed = calls.flatMap((call, i) => (i ? [", ", call] : [call]));
  return element("p", "jxs-aside", "Interactive figures, in a cell of their own: ", ...listed);
}

interface Figure {
  element: HTMLElement;
  dispose(): void;
}

/** A button that requests the figure, and the element that it is drawn into. */
function figure(model: ReportModel, kind: string): Figure {
  const button = element("button", "jxs-button");
  const status = element("span");
  status.setAttribute("role", "status");
  const place = element("div");
  const root = element("div", "jxs-plot", button, status, place);

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
    status.textContent = "Requesting the figure …";
    try {
      const drawn = await model.host.drawFigure?.(place, model.payload.id, kind);
      if (gone) return drawn?.();
      remove = drawn ?? null;
      status.textContent = "";
    } catch (error) {
      status.textContent = reason(error);
    }
    rest();
  });
  const dispose = () => {
    gone = true;
    remove?.();
  };
  return { element: root, dispose };
}

function reason(error: unknown): string {
  if (!(error instanceof TextAbsent)) return error instanceof Error ? error.message : String(error);
  const detail = error.absence === "error" && error.message ? ` ${error.message}` : "";
  return `${ABSENT[error.absence]}${detail}`;
}
