/** The bar above the graph: choice of the computation, zoom. */

import { button, element, select } from "../dom";
import type { Computation, Module } from "./hlo";

export const ZOOM = 1.25;
/** Computations in the list. */
const MOST_NAMES = 300;

export interface BarEvents {
  enter(computation: number): void;
  up(): void;
  zoom(factor: number): void;
  fit(): void;
  again(): void;
}

export class GraphBar {
  readonly element = element("div", "jxs-graph-bar");
  private readonly up: HTMLButtonElement;
  private module: Module | null = null;
  private computation: Computation | null = null;

  constructor(private readonly events: BarEvents) {
    this.up = button("", "Go to the instruction that calls this computation", () => events.up());
  }

  /** Shows the current computation. Nothing is rebuilt without a change, so that the focus stays. */
  fill(module: Module, computation: Computation): void {
    if (this.module === module && this.computation === computation) return;
    this.module = module;
    this.computation = computation;
    const { events } = this;
    const [caller] = module.callers(computation.index);
    const name = caller === undefined ? "" : (module.instructions[caller]?.name ?? "");
    this.up.textContent = `↰ %${name}`;
    this.up.hidden = !name;
    // Fusions open in place; loops, branches and reductions are entered.
    const listed = module.computations
      .filter((each) => each.root >= 0 && (!module.isFused(each.index) || each === computation))
      .sort((a, b) => Number(b.entry) - Number(a.entry) || b.end - b.first - (a.end - a.first))
      .slice(0, MOST_NAMES);
    if (!listed.includes(computation)) listed.push(computation);
    const names = listed.map(
      (each) => `${each.entry ? "ENTRY " : ""}%${each.name} (${each.end - each.first})`,
    );
    const list = select("Computation", names, (i) => events.enter(listed[i]?.index ?? -1));
    list.value = String(listed.indexOf(computation));
    this.element.replaceChildren(
      list,
      this.up,
      element("span", "jxs-gap"),
      button("−", "Zoom out (−)", () => events.zoom(1 / ZOOM)),
      button("+", "Zoom in (+)", () => events.zoom(ZOOM)),
      button("Fit", "Fit the graph to the window (0)", () => events.fit()),
      button("Start here", "Restart from the selected instruction", () => events.again()),
    );
  }
}
