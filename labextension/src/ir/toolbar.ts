/** The toolbar for all panes: search, settings, one more pane, legend, graph. */

import { button, element, toggle } from "../dom";
import type { ReportModel } from "../model";
import { count } from "../words";
import type { Settings } from "./settings";

export interface ToolbarEvents {
  search(query: string): { matches: number; panes: number };
  step(by: number): void;
  changed(): void;
  add(): void;
  legend(on: boolean): void;
  graph(on: boolean): void;
}

export class Toolbar {
  readonly element: HTMLElement;
  readonly adder: HTMLButtonElement;
  private readonly input: HTMLInputElement;
  private readonly output: HTMLOutputElement;

  constructor(
    model: ReportModel,
    settings: Settings,
    private readonly events: ToolbarEvents,
  ) {
    this.input = element("input", "jxs-search");
    this.input.type = "search";
    this.input.placeholder = "Search all";
    this.input.setAttribute("aria-label", "Search in all panes");
    this.output = element("output", "jxs-found-count");
    this.input.addEventListener("input", () => this.search());
    this.input.addEventListener("keydown", (event) => this.key(event));
    const setting = (name: keyof Settings, text: string, title: string) =>
      toggle(text, title, settings[name], (on) => {
        settings[name] = on;
        events.changed();
      });
    const callers = toggle(
      "callers",
      "Also link a line to the code of the functions that it calls",
      model.followsCallers,
      (on) => model.followCallers(on),
    );
    const legend = toggle("legend", "Show the legend of colors and marks", false, (on) =>
      events.legend(on),
    );
    const graph = toggle(
      "graph",
      "Show the optimized HLO as a graph beside the texts",
      false,
      (on) => events.graph(on),
    );
    this.adder = button("+ pane", "+ pane: show one more stage", () => events.add());
    this.adder.classList.add("jxs-adder");
    this.element = element(
      "div",
      "jxs-toolbar",
      element("span", "jxs-find jxs-find-all", this.input, this.output),
      setting("colors", "colors", "Color each source line and its linked lines"),
      setting("wrap", "wrap", "Wrap long lines"),
      setting("metadata", "metadata", "Show metadata and source locations"),
      setting("layouts", "layouts", "Show array layouts: {1,0}"),
      callers,
      legend,
      graph,
      this.adder,
    );
    this.element.setAttribute("role", "toolbar");
    this.element.setAttribute("aria-label", "All panes");
  }

  private key(event: KeyboardEvent): void {
    if (event.key === "Enter") this.events.step(event.shiftKey ? -1 : 1);
    else if (event.key === "Escape") {
      this.input.value = "";
      this.search();
    } else return;
    event.preventDefault();
    event.stopPropagation();
  }

  private search(): void {
    const query = this.input.value;
    const { matches, panes } = this.events.search(query);
    const found = `${count(matches, "match", "matches")} in ${count(panes, "pane")}`;
    this.output.textContent = query ? (matches ? found : "no match") : "";
  }
}
