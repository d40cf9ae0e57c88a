/** The toolbar of the code: a menu of the view, the graph, one more pane. */

import { button, element, toggle } from "../dom";
import type { ReportModel } from "../model";
import type { Settings } from "./settings";

export interface ToolbarEvents {
  changed(): void;
  add(): void;
  legend(on: boolean): void;
  graph(on: boolean): void;
}

export class Toolbar {
  readonly element: HTMLElement;
  readonly adder: HTMLButtonElement;
  private readonly end: () => void;

  constructor(model: ReportModel, settings: Settings, events: ToolbarEvents, search: HTMLElement) {
    const setting = (name: keyof Settings, text: string, title: string) =>
      toggle(text, title, settings[name], (on) => {
        settings[name] = on;
        events.changed();
      });
    const items = element(
      "div",
      "jxs-menu-items",
      setting("wrap", "wrap", "Wrap long lines"),
      setting("metadata", "metadata", "Show metadata and source locations"),
      setting("layouts", "layouts", "Show array layouts: {1,0}"),
      setting("rainbow", "rainbow", "Fill each source line and its linked lines with a color"),
      toggle(
        "callers",
        "Also link a line to the code of the functions that it calls",
        model.followsCallers,
        (on) => model.followCallers(on),
      ),
      toggle("legend", "Show the legend of colors and marks", false, (on) => events.legend(on)),
    );
    const menu = element("details", "jxs-menu", element("summary", "", "view"), items);
    // A click elsewhere, or Escape, closes the menu.
    const outside = (event: Event) => {
      if (event.target instanceof Node && !menu.contains(event.target)) menu.open = false;
    };
    document.addEventListener("pointerdown", outside, true);
    this.end = () => document.removeEventListener("pointerdown", outside, true);
    menu.addEventListener("keydown", (event) => {
      if (event.key !== "Escape" || !menu.open) return;
      menu.open = false;
      menu.querySelector("summary")?.focus();
      event.preventDefault();
      event.stopPropagation();
    });
    const graph = toggle(
      "graph",
      "Show the optimized HLO as a graph beside the texts",
      false,
      (on) => events.graph(on),
    );
    this.adder = button("+ pane", "+ pane: show one more stage", () => events.add());
    this.element = element("div", "jxs-toolbar", menu, graph, this.adder, search);
    this.element.setAttribute("role", "toolbar");
    this.element.setAttribute("aria-label", "All panes");
  }

  dispose(): void {
    this.end();
  }
}
