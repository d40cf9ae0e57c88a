/** The panes of the stages, side by side, and the graph after them. */

import { StagesView } from "../diff/stages";
import { button, element } from "../dom";
import type { StageKind } from "../schema/report";
import { GraphView } from "../views/graph";
import type { View } from "../views/view";
import { added, chosen, closed, firstKinds, MOST } from "./chosen";
import type { Room } from "./room";
import { StagePane } from "./stage";

/** Width of the graph, in widths of a text; at most half of all. */
const GRAPH_SHARE = 1.6;
/** Width in pixels from which a text is readable. */
const NARROWEST = 280;

export interface StagesEvents {
  /** The open panes have changed; `fresh` are the new ones. */
  opened(fresh: readonly StagePane[]): void;
  /** The size of the texts has changed. */
  fitted(): void;
}

export class Stages {
  readonly element = element("div", "jxs-stages");
  panes: StagePane[] = [];
  private kinds: StageKind[] = [];
  private graph: View | null = null;
  /** The program before and after a pass, in place of the panes. */
  private diff: View | null = null;
  /** The stages that were open before the graph. */
  private beside: StageKind[] = [];

  constructor(
    private readonly room: Room,
    private readonly events: StagesEvents,
  ) {}

  /** Opens the first stages, as many as fit into the width, unless some are open; `anew` even then. */
  begin(width: number, anew = false): void {
    if (this.kinds.length && !anew) return;
    const stages = this.room.model.programJson?.stages ?? [];
    const missing = stages.filter((each) => each.unavailable).map((each) => each.kind);
    this.open(firstKinds(width, missing));
  }

  add(): void {
    this.open(added(this.kinds));
  }

  get full(): boolean {
    return this.panes.length >= MOST;
  }

  /** Shows these stages. A pane of the same kind is reused and keeps its scroll position. */
  private open(kinds: readonly StageKind[]): void {
    if (this.diff) this.endComparison();
    if (!this.room.model.programJson) return;
    const spare = [...this.panes];
    this.kinds = [...kinds];
    const fresh: StagePane[] = [];
    this.panes = this.kinds.map((kind) => {
      const at = spare.findIndex((pane) => pane.kind === kind);
      const [known] = at < 0 ? [] : spare.splice(at, 1);
      if (known) return known;
      const made = this.make(kind);
      fresh.push(made);
      return made;
    });
    for (const pane of spare) pane.dispose();
    for (const [index, { frame }] of this.panes.entries()) {
      const here = this.element.children[index] ?? null;
      if (here !== frame.element) this.element.insertBefore(frame.element, here);
    }
    for (const pane of this.panes) pane.closer.hidden = this.panes.length < 2;
    this.events.opened(fresh);
  }

  private make(kind: StageKind): StagePane {
    const pane: StagePane = new StagePane(this.room, kind, {
      compare: (number) => void this.compare(number, pane),
      choose: (next) => {
        const at = this.panes.indexOf(pane);
        this.open(chosen(this.kinds, at, next));
        this.panes[at]?.chooser.focus();
      },
      close: () => {
        const at = this.panes.indexOf(pane);
        this.open(closed(this.kinds, at));
        this.panes[Math.max(0, at - 1)]?.frame.pane.focus();
      },
    });
    return pane;
  }

  private async compare(number: number, pane: StagePane): Promise<void> {
    const { foot } = pane.frame;
    const answer = this.room.model.comparePass(number);
    if (!answer) {
      foot.textContent = `No kernel is connected. In Python, report.passes().diff(${number}) compares them.`;
      return;
    }
    foot.textContent = `Comparing the program before and after pass ${number} …`;
    try {
      const view = new StagesView([await answer]);
      this.endComparison();
      const back = button("← passes", "Back to the list of passes", () => {
        this.endComparison();
        pane.frame.pane.focus();
      });
      const bar = element("header", "jxs-pane-head", back);
      const section = element("section", "jxs-diff-pane", bar, view.element);
      section.setAttribute("aria-label", `Before and after pass ${number}`);
      this.diff = view;
      this.element.classList.add("jxs-comparing");
      this.element.append(section);
      pane.light(this.room.model.pinned);
      view.shown?.();
      back.focus();
    } catch (error) {
      foot.textContent = error instanceof Error ? error.message : String(error);
    }
  }

  private endComparison(): void {
    this.diff?.element.parentElement?.remove();
    this.diff?.dispose?.();
    this.diff = null;
    this.element.classList.remove("jxs-comparing");
    this.events.fitted();
  }

  /** Shows or hides the graph, after the texts; `stacked`: below them. */
  showGraph(on: boolean, stacked: boolean): void {
    this.graph?.dispose?.();
    this.graph?.element.parentElement?.remove();
    this.graph = on ? new GraphView(this.room.model) : null;
    if (!this.graph) {
      if (this.beside.length) this.open(this.beside);
      else this.events.fitted();
      this.beside = [];
      return;
    }
    if (!stacked) this.makeRoom();
    const pane = element("section", "jxs-pane jxs-graph-pane", this.graph.element);
    pane.setAttribute("aria-label", "Graph");
    pane.dataset.pane = "graph";
    this.element.append(pane);
    this.events.fitted();
    this.graph.shown?.();
  }

  /** Closes panes that would be too narrow beside the graph; they come back with it closed. */
  private makeRoom(): void {
    const width = this.element.clientWidth;
    const kinds = [...this.kinds];
    const texts = () => Math.max(kinds.length / (kinds.length + GRAPH_SHARE), 0.5);
    const narrow = () => (width * texts()) / kinds.length < NARROWEST;
    while (kinds.length > 1 && narrow()) {
      kinds.splice(kinds[0] === "optimized_hlo" ? 1 : 0, 1);
    }
    if (kinds.length === this.kinds.length) return;
    this.beside = this.kinds;
    this.open(kinds);
  }

  dispose(): void {
    for (const pane of this.panes) pane.dispose();
    this.graph?.dispose?.();
    this.diff?.dispose?.();
  }
}
