/** The source beside the stages, with one selection for all panes. */

import { element, quoted } from "../dom";
import { COMPACT_SIDE_BY_SIDE, SIDE_BY_SIDE } from "../ir/chosen";
import { differentiates } from "../ir/dress";
import { type Measure, measuresOf } from "../ir/figures";
import { type Grip, grip } from "../ir/grip";
import { huesOf } from "../ir/hues";
import { legend } from "../ir/legend";
import type { Room } from "../ir/room";
import { SearchBox } from "../ir/searchbox";
import { FIRST } from "../ir/settings";
import { SourcePane } from "../ir/source";
import type { StagePane } from "../ir/stage";
import { Stages } from "../ir/stages";
import { sentence } from "../ir/states";
import { statusWords } from "../ir/status";
import { StageTexts } from "../ir/texts";
import { Toolbar } from "../ir/toolbar";
import type { ReportModel, Selection } from "../model";
import { findingsView } from "./findings";
import type { View } from "./view";

const HINT =
  "Hover over a line to see what it compiles to. A click or Enter pins it and scrolls every pane to its match.";
/** Width of the source in percent, by the number of stages beside it. */
const SOURCE_SHARE = [38, 38, 38, 30, 24] as const;
/** … in a compact report, where it is what one reads. */
const COMPACT_SHARE = 50;

export class IrView implements View {
  readonly element: HTMLElement;
  private readonly room: Room;
  private readonly source: SourcePane;
  private readonly stages: Stages;
  private readonly status: HTMLElement;
  private readonly key: HTMLElement;
  private readonly notes: string;
  private readonly search: SearchBox;
  /** The pane from which the search began. */
  private focusedLast: SourcePane | StagePane | null = null;
  private chosen: Measure | undefined;
  private readonly toolbar: Toolbar;
  private readonly grip: Grip;
  private readonly ends: (() => void)[] = [];
  private hues: ReadonlyMap<number, number> = new Map();
  private pinned: Selection | null = null;
  private frame = 0;
  /** Something was pinned while another tab was open. */
  private unseen = false;

  get controls(): HTMLElement | undefined {
    return this.model.programJson ? this.toolbar.element : undefined;
  }

  /** `notes` are shown where there is no program, else until a line is selected. */
  constructor(
    private readonly model: ReportModel,
    notes: readonly string[],
    private compact = false,
    private readonly sized: (rows: number) => void = () => undefined,
  ) {
    this.room = {
      model,
      settings: { ...FIRST },
      texts: new StageTexts(model),
      hues: () => this.hues,
      measure: () => this.measure(),
      choose: (measure) => {
        this.chosen = measure;
        this.apply();
      },
      step: (by) => this.search.step(by),
    };
    this.search = new SearchBox(
      () => this.panes.map((pane) => pane.frame),
      () => (this.focusedLast ?? this.source).frame.pane.focus(),
    );
    this.hues = huesOf(model.equations, model.source);
    this.source = new SourcePane(this.room);
    const findings = findingsView(model);
    if (findings.dispose) this.ends.push(findings.dispose);
    this.stages = new Stages(this.room, {
      opened: (fresh) => this.opened(fresh),
      fitted: () => this.fit(),
    });
    this.notes = model.programJson ? notes.join(" · ") : "";
    this.status = element("div", "jxs-status", ...quoted(this.idle));
    this.status.setAttribute("role", "status");
    this.key = legend(differentiates(model));
    this.key.hidden = true;
    const events = {
      changed: () => this.apply(),
      add: () => this.stages.add(),
      legend: (on: boolean) => {
        this.key.hidden = !on;
      },
      graph: (on: boolean) =>
        this.stages.showGraph(on, this.element.classList.contains("jxs-stacked")),
    };
    this.toolbar = new Toolbar(model, this.room.settings, events, this.search.element);
    this.ends.push(() => this.toolbar.dispose());
    const left = element("div", "jxs-left", this.source.frame.element, findings.element);
    left.classList.toggle("jxs-advised", !findings.element.hidden);
    const code = element("div", "jxs-code");
    this.grip = grip(code, SOURCE_SHARE[0], () => this.layout());
    code.append(left, this.grip.element, this.stages.element);
    this.element = element("div", "jxs-ir", this.key, code, this.status);
    this.element.addEventListener("keydown", (event) => this.onKey(event));
    if (!model.programJson) {
      const given = [...notes, model.data.nothing ?? ""].filter((words) => words);
      const reasons = given.map((words) => element("p", "", ...quoted(words)));
      this.stages.element.append(element("div", "jxs-nothing", ...reasons));
      this.element.classList.add("jxs-bare");
      this.status.hidden = true;
    }
    this.source.apply();
    this.source.light(null);
    this.size();
    this.ends.push(
      model.on("program", () => this.redraw()),
      model.on("source", () => this.redraw()),
      model.on("texts", () => this.fill()),
      model.on("selection", () => this.select()),
    );
    const watcher = new ResizeObserver(() => {
      // In the next frame: a layout that changes the width within this one would loop.
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
    // An element without a height cannot be scrolled: wait until it has one.
    this.unseen = !this.element.clientWidth;
    if (!this.unseen) for (const pane of this.panes) pane.reveal(pinned);
  }

  /** Fits the panes to the width; opens the first ones once the width is known. */
  private layout(): void {
    const width = this.element.clientWidth;
    if (!width) return;
    const least = this.compact ? COMPACT_SIDE_BY_SIDE : SIDE_BY_SIDE;
    this.element.classList.toggle("jxs-stacked", width < least);
    this.stages.begin(this.compact ? 0 : width);
    this.fit();
  }

  /** One stage beside the source, or as many as fit. */
  setCompact(on: boolean): void {
    if (on === this.compact) return;
    this.compact = on;
    const width = this.element.clientWidth;
    if (width) this.stages.begin(on ? 0 : width, true);
  }

  private fit(): void {
    for (const pane of this.panes) pane.layout();
  }

  private get panes(): (SourcePane | StagePane)[] {
    return [this.source, ...this.stages.panes];
  }

  private opened(fresh: readonly StagePane[]): void {
    this.toolbar.adder.hidden = this.stages.full;
    const share = SOURCE_SHARE[this.stages.panes.length] ?? SOURCE_SHARE[0];
    this.grip.suggest(this.compact ? COMPACT_SHARE : share);
    this.search.again();
    this.draw();
    this.fit();
    this.lead(fresh);
  }

  private redraw(): void {
    this.hues = huesOf(this.model.equations, this.model.source);
    this.source.redraw();
    this.size();
    this.fill();
  }

  private fill(): void {
    const fresh = this.stages.panes.filter((pane) => pane.redraw());
    this.draw();
    this.lead(fresh);
  }

  /** Scrolls panes with a new text to the pinned selection. */
  private lead(fresh: readonly StagePane[]): void {
    const { pinned } = this.model;
    if (pinned) for (const pane of fresh) pane.reveal(pinned);
  }

  private apply(): void {
    for (const pane of this.panes) pane.apply();
  }

  /** The height that the source needs, in rows. */
  private size(): void {
    const rows = Math.max(this.source.rows, 2);
    this.element.style.setProperty("--jxs-rows", String(rows));
    this.sized(rows);
  }

  private select(): void {
    const { pinned } = this.model;
    if (pinned && pinned !== this.pinned) {
      this.pinned = pinned;
      if (this.switchSource(pinned)) return;
      this.draw();
      this.reveal(pinned);
      return;
    }
    this.pinned = pinned;
    this.draw();
  }

  /** Switches to a source of the pinned line, where the shown one is not among them. */
  private switchSource(pinned: Selection): boolean {
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

  /** The words below the code while no line is selected. */
  private get idle(): string {
    const { unlinked } = this.model;
    return this.notes || (unlinked ? `No line is linked to a stage: ${sentence(unlinked)}` : HINT);
  }

  private draw(): void {
    const now = this.model.selection;
    for (const pane of this.panes) pane.light(now);
    const words = now ? statusWords(this.model, now, this.room.texts) : [];
    if (!words.length) {
      this.status.replaceChildren(...quoted(this.idle));
      this.status.title = this.idle;
      return;
    }
    const [first = "", ...rest] = words;
    this.status.replaceChildren(element("b", "", first), ...rest.map((part) => ` · ${part}`));
    this.status.title = words.join(" · ");
  }

  /** The figure that is shown beside the lines: time if it was measured. */
  private measure(): Measure | undefined {
    const known = measuresOf(this.model);
    return this.chosen && known.includes(this.chosen) ? this.chosen : known[0];
  }

  private onKey(event: KeyboardEvent): void {
    if (event.defaultPrevented || event.altKey) return;
    const pane = this.focused();
    if (event.ctrlKey || event.metaKey) {
      // The browser's search finds only the lines that are rendered.
      if (event.key !== "f" || !pane) return;
      this.searchFrom(pane);
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
    else if (event.key === "/" && pane) this.searchFrom(pane);
    else if (event.key === "ArrowRight") this.moveFocus(1);
    else if (event.key === "ArrowLeft") this.moveFocus(-1);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  private searchFrom(pane: SourcePane | StagePane): void {
    this.focusedLast = pane;
    this.search.focus();
  }

  private focused(): SourcePane | StagePane | undefined {
    return this.panes.find((pane) => pane.frame.element.matches(":focus-within"));
  }

  /** Moves the focus to the pane on the left or right. */
  private moveFocus(by: number): void {
    const { panes } = this;
    const here = panes.findIndex((pane) => pane.frame.pane.element.matches(":focus-within"));
    if (here >= 0) panes[here + by]?.frame.pane.focus();
  }

  dispose(): void {
    cancelAnimationFrame(this.frame);
    for (const end of this.ends) end();
    this.source.dispose();
    this.stages.dispose();
    this.element.remove();
  }
}
