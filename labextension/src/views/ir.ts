/** The source beside the stages: one selection, shown in every pane. */

import { element } from "../dom";
import { added, chosen, closed, firstKinds, MOST, SIDE_BY_SIDE } from "../ir/chosen";
import { differentiates } from "../ir/dress";
import { grip } from "../ir/grip";
import { huesOf } from "../ir/hues";
import { legend } from "../ir/legend";
import type { Room } from "../ir/room";
import { FIRST } from "../ir/settings";
import { SourcePane } from "../ir/source";
import { StagePane } from "../ir/stage";
import { statusWords } from "../ir/status";
import { StageTexts } from "../ir/texts";
import { Toolbar } from "../ir/toolbar";
import type { ReportModel, Selection } from "../model";
import type { StageKind } from "../report";
import { findingsView } from "./findings";
import { graphView } from "./graph";
import type { View } from "./view";

const HINT =
  "Point at a line to see what it became; a click or Enter pins it and scrolls every pane to its match.";
const SOURCE_SHARE = 38;
/** Room of the graph beside that of one text. */
const GRAPH_SHARE = 1.6;
/** Pixels of a text that can be read. */
const NARROWEST = 280;

export function irView(model: ReportModel): View {
  return new IrView(model);
}

class IrView implements View {
  readonly element: HTMLElement;
  private readonly room: Room;
  private readonly source: SourcePane;
  private readonly stages: HTMLElement;
  private readonly status: HTMLElement;
  private readonly key: HTMLElement;
  private readonly toolbar: Toolbar;
  private readonly ends: (() => void)[] = [];
  private panes: StagePane[] = [];
  private kinds: StageKind[] = [];
  private hues: ReadonlyMap<number, number> = new Map();
  private pinned: Selection | null = null;
  private frame = 0;
  private graph: View | null = null;
  /** Something was pinned while another tab was open. */
  private unseen = false;
  /** What was open before the graph took its room. */
  private beside: StageKind[] = [];

  constructor(private readonly model: ReportModel) {
    this.room = {
      model,
      settings: { ...FIRST },
      texts: new StageTexts(model),
      hues: () => this.hues,
    };
    this.hues = huesOf(model.equations, model.source);
    this.source = new SourcePane(this.room);
    const findings = findingsView(model);
    if (findings.dispose) this.ends.push(findings.dispose);
    this.stages = element("div", "jxs-stages");
    this.status = element("div", "jxs-status", HINT);
    this.status.setAttribute("role", "status");
    this.key = legend(differentiates(model));
    this.key.hidden = true;
    this.toolbar = new Toolbar(model, this.room.settings, {
      search: (query) => this.search(query),
      step: (by) => this.step(by),
      changed: () => this.apply(),
      add: () => this.open(added(this.kinds)),
      legend: (on) => {
        this.key.hidden = !on;
      },
      graph: (on) => this.showGraph(on),
    });
    const left = element("div", "jxs-left", this.source.frame.element, findings.element);
    left.classList.toggle("jxs-advised", !findings.element.hidden);
    const code = element("div", "jxs-code");
    code.append(
      left,
      grip(code, SOURCE_SHARE, () => this.layout()),
      this.stages,
    );
    this.element = element("div", "jxs-ir", this.toolbar.element, this.key, code, this.status);
    this.element.addEventListener("keydown", (event) => this.onKey(event));
    if (!model.programJson) this.stages.append(element("p", "jxs-nothing", nothing(model)));
    this.source.apply();
    this.size();
    this.ends.push(
      model.on("program", () => this.redraw()),
      model.on("source", () => this.redraw()),
      model.on("texts", () => this.fill()),
      model.on("selection", () => this.select()),
    );
    const watcher = new ResizeObserver(() => {
      // Later, so that what follows from a width does not change it within the same frame.
      cancelAnimationFrame(this.frame);
      this.frame = requestAnimationFrame(() => this.layout());
    });
    watcher.observe(this.element);
    this.ends.push(() => watcher.disconnect());
  }

  shown(): void {
    this.layout();
    const { pinned } = this.model;
    if (this.unseen && pinned && this.element.clientWidth) this.reveal(pinned);
  }

  private reveal(pinned: Selection): void {
    // What has no height cannot be scrolled: then it waits until it has.
    this.unseen = !this.element.clientWidth;
    if (!this.unseen) for (const pane of [this.source, ...this.panes]) pane.reveal(pinned);
  }

  /** Fits the panes to the room there is; opens the first ones when that is known. */
  private layout(): void {
    const width = this.element.clientWidth;
    if (!width) return;
    this.element.classList.toggle("jxs-stacked", width < SIDE_BY_SIDE);
    if (!this.kinds.length) this.open(firstKinds(width));
    for (const pane of [this.source, ...this.panes]) pane.layout();
  }

  /** Shows these stages; a pane whose kind stays keeps its place in the text. */
  private open(kinds: readonly StageKind[]): void {
    if (!this.model.programJson) return;
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
    const wanted = this.panes.map((pane) => pane.frame.element);
    for (const [index, node] of wanted.entries()) {
      if (this.stages.children[index] !== node) {
        this.stages.insertBefore(node, this.stages.children[index] ?? null);
      }
    }
    this.toolbar.adder.hidden = this.panes.length >= MOST;
    for (const pane of this.panes) pane.closer.hidden = this.panes.length < 2;
    this.draw();
    for (const pane of [this.source, ...this.panes]) pane.layout();
    this.lead(fresh);
  }

  /** The graph stands after the texts. */
  private showGraph(on: boolean): void {
    this.graph?.dispose?.();
    this.graph?.element.parentElement?.remove();
    this.graph = on ? graphView(this.model) : null;
    if (!this.graph) {
      if (this.beside.length) this.open(this.beside);
      this.beside = [];
      return;
    }
    this.makeRoom();
    const pane = element("section", "jxs-pane jxs-graph-pane", this.graph.element);
    pane.setAttribute("aria-label", "Graph");
    pane.dataset.pane = "graph";
    this.stages.append(pane);
    for (const each of [this.source, ...this.panes]) each.layout();
    this.graph.shown?.();
  }

  /** Closes what would be too narrow to read beside the graph; it comes back as the graph goes. */
  private makeRoom(): void {
    const width = this.stages.clientWidth;
    const kinds = [...this.kinds];
    const narrow = () => width / (kinds.length + GRAPH_SHARE) < NARROWEST;
    if (!narrow() || this.element.classList.contains("jxs-stacked")) return;
    while (kinds.length > 1 && narrow()) {
      kinds.splice(kinds[0] === "optimized_hlo" ? 1 : 0, 1);
    }
    if (kinds.length === this.kinds.length) return;
    this.beside = this.kinds;
    this.open(kinds);
  }

  private make(kind: StageKind): StagePane {
    const pane: StagePane = new StagePane(this.room, kind, {
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

  private redraw(): void {
    this.hues = huesOf(this.model.equations, this.model.source);
    this.source.redraw();
    this.size();
    this.fill();
  }

  private fill(): void {
    const fresh = this.panes.filter((pane) => pane.redraw());
    this.draw();
    this.lead(fresh);
  }

  /** Scrolls panes whose text is new to what is pinned. */
  private lead(fresh: readonly StagePane[]): void {
    const { pinned } = this.model;
    if (pinned) for (const pane of fresh) pane.reveal(pinned);
  }

  private apply(): void {
    for (const pane of [this.source, ...this.panes]) pane.apply();
  }

  /** The room that the source asks for: as many rows as it has. */
  private size(): void {
    this.element.style.setProperty("--jxs-rows", String(Math.max(this.source.rows, 2)));
  }

  private select(): void {
    const { pinned } = this.model;
    if (pinned && pinned !== this.pinned) {
      this.pinned = pinned;
      if (this.turnSource(pinned)) return;
      this.draw();
      this.reveal(pinned);
      return;
    }
    this.pinned = pinned;
    this.draw();
  }

  /** Turns to the source that the pinned line came from, where the shown one has no part in it. */
  private turnSource(pinned: Selection): boolean {
    const { model } = this;
    if (pinned.origin === "source" || pinned.origin === "tab" || !pinned.soft.size) return false;
    const has = (source: number) =>
      [...pinned.soft].some((id) => model.equations.places(id, source).length);
    if (has(model.source)) return false;
    const other = model.data.record.sources.findIndex((_, index) => has(index));
    if (other < 0) return false;
    this.pinned = null;
    model.chooseSource(other);
    return true;
  }

  private draw(): void {
    const now = this.model.selection;
    this.source.light(now);
    for (const pane of this.panes) pane.light(now);
    const words = now ? statusWords(this.model, now, this.room.texts) : [];
    if (!words.length) {
      this.status.replaceChildren(HINT);
      return;
    }
    const [first = "", ...rest] = words;
    this.status.replaceChildren(element("b", "", first), ...rest.map((part) => ` · ${part}`));
    this.status.title = words.join(" · ");
  }

  private search(query: string): { matches: number; panes: number } {
    const found = [this.source, ...this.panes].map((pane) => pane.frame.search(query));
    return {
      matches: found.reduce((sum, each) => sum + each, 0),
      panes: found.filter(Boolean).length,
    };
  }

  private step(by: number): void {
    for (const pane of [this.source, ...this.panes]) pane.frame.step(by);
  }

  private onKey(event: KeyboardEvent): void {
    if (event.defaultPrevented || event.altKey) return;
    const pane = this.focused();
    if (event.ctrlKey || event.metaKey) {
      // The browser's own search sees only the lines that are drawn.
      if (event.key !== "f" || !pane) return;
      pane.frame.focusSearch();
      event.preventDefault();
      event.stopPropagation();
      return;
    }
    const inField = event.target instanceof Element && event.target.closest("input, select");
    if (event.key === "Escape") {
      if (!this.model.selection) return;
      this.model.hover(null);
      if (this.model.pinned) this.model.pin(this.model.pinned);
    } else if (inField) return;
    else if (event.key === "/" && pane) pane.frame.focusSearch();
    else if (event.key === "ArrowRight") this.turn(1);
    else if (event.key === "ArrowLeft") this.turn(-1);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  private focused(): SourcePane | StagePane | undefined {
    return [this.source, ...this.panes].find((pane) => pane.frame.element.matches(":focus-within"));
  }

  /** Left and right move between the panes. */
  private turn(by: number): void {
    const panes = [this.source, ...this.panes];
    const here = panes.findIndex((pane) => pane.frame.pane.element.matches(":focus-within"));
    if (here >= 0) panes[here + by]?.frame.pane.focus();
  }

  dispose(): void {
    cancelAnimationFrame(this.frame);
    for (const end of this.ends) end();
    this.source.dispose();
    for (const pane of this.panes) pane.dispose();
    this.graph?.dispose?.();
    this.element.remove();
  }
}

/** Why there is no stage to show. */
function nothing(model: ReportModel): string {
  const plain = model.data.record.form === "plain";
  return plain
    ? "jaxscope could not look into this cell, so it ran as plain Python: there are no stages to show."
    : "Nothing was compiled in this run, so there are no stages, costs or timings.";
}
