/** The optimized HLO as a graph: the neighborhood of the selected instruction, which grows by clicks. */

import { element } from "../dom";
import { Arranger, Outdated } from "../graph/arrange";
import { GraphBar } from "../graph/bar";
import { Camera } from "../graph/camera";
import { chosen, hottest } from "../graph/chosen";
import { Drawing } from "../graph/drawing";
import { gestures } from "../graph/gestures";
import type { Module } from "../graph/hlo";
import { GraphKeys } from "../graph/keyboard";
import { Neighborhood, type Side } from "../graph/neighborhood";
import { origins } from "../graph/origins";
import { HELP, NO_INSTRUCTION, Reading } from "../graph/reading";
import { scene } from "../graph/scene";
import { svg } from "../graph/svg";
import { Walk } from "../graph/walk";
import workerCode from "../graph/worker.ts?bundled";
import { Message } from "../ir/message";
import type { ReportModel, Selection } from "../model";
import { count } from "../words";
import type { View } from "./view";

const KIND = "optimized_hlo";

export class GraphView implements View {
  readonly element: HTMLElement;
  private readonly canvas = svg("svg", { class: "jxs-canvas", role: "group" });
  private readonly status = element("div", "jxs-graph-status");
  private readonly message = new Message();
  private readonly bar: GraphBar;
  private readonly camera = new Camera();
  private readonly drawing: Drawing;
  private readonly arranger = new Arranger(workerCode ?? "");
  private readonly ends: (() => void)[] = [];
  private readonly reading = new Reading();
  private around: Neighborhood | null = null;
  private pinned: Selection | null = null;
  private center = -1;
  private note = "";
  private readonly walk: Walk;
  private gone = false;

  constructor(private readonly model: ReportModel) {
    this.drawing = new Drawing({
      node: (index) => this.press(index),
      stub: (stub) => this.grow(stub.index, stub.side),
      toggle: (index) => this.toggle(index),
      enter: (computation) => this.enter(computation),
      over: (index) => this.over(index),
    });
    this.walk = new Walk(this.drawing, () => this.around);
    const keys = new GraphKeys(this.drawing, this.walk, {
      zoom: (factor) => this.zoom(factor),
      fit: () => this.fit(),
      reveal: (place) => this.reveal(place),
      press: (index) => this.press(index),
      unfold: (index) => this.unfold(index),
      hide: (index) => this.hide(index),
    });
    this.canvas.append(this.drawing.element);
    this.status.setAttribute("role", "status");
    this.bar = new GraphBar({
      enter: (computation) => this.enter(computation),
      up: () => this.goUp(),
      zoom: (factor) => this.zoom(factor),
      fit: () => this.fit(),
      again: () => this.begin(this.model.pinned),
    });
    const room = element("div", "jxs-graph-room");
    room.append(this.canvas, this.message.element);
    this.element = element("div", "jxs-graph", this.bar.element, room, this.status);
    gestures(this.canvas, {
      pan: (dx, dy) => {
        const moved = this.camera.pan(dx, dy);
        this.move();
        return moved;
      },
      zoom: (factor, at) => this.zoom(factor, at),
      key: (event) => keys.handle(event),
    });
    const watcher = new ResizeObserver(() => this.shown());
    watcher.observe(room);
    this.ends.push(
      () => watcher.disconnect(),
      model.on("program", () => this.reset()),
      model.on("source", () => void this.redraw(-1)),
      model.on("texts", () => this.shown()),
      model.on("selection", () => this.follow()),
    );
  }

  /** Reads the text once the canvas has a size. */
  shown(): void {
    const { width, height } = this.canvas.getBoundingClientRect();
    if (!width || !height || this.gone) return;
    const before = this.camera.window;
    this.camera.window = { width, height };
    if (!this.read()) return;
    if (this.around) {
      this.camera.pan((width - before.width) / 2, (height - before.height) / 2);
      this.move();
      return;
    }
    this.pinned = this.model.pinned;
    if (this.begin(this.pinned) === null && this.pinned) this.note = NO_INSTRUCTION;
  }

  dispose(): void {
    this.gone = true;
    for (const end of this.ends) end();
    this.arranger.dispose();
  }

  // The text, or the reason why it is absent.

  private read(): boolean {
    const { fresh, notice } = this.reading.read(this.model);
    if (fresh) this.around = null;
    if (this.around) return true;
    this.element.classList.toggle("jxs-empty", notice !== null);
    this.message.notify(notice, () => this.model.tryAgain());
    if (notice) this.status.textContent = "";
    else this.fillBar();
    return notice === null;
  }

  private get module(): Module | null {
    return this.reading.module;
  }

  private reset(): void {
    this.reading.forget();
    this.around = null;
    this.shown();
  }

  // The start.

  private indexOf(selection: Selection | null): number | null {
    return selection && this.module ? chosen(this.model, this.module, selection) : null;
  }

  /** Starts at a selection; without one, at the costliest instruction. */
  private begin(selection: Selection | null): number | null {
    const index = this.indexOf(selection);
    if (this.module) this.start(index ?? hottest(this.model, this.module));
    return index;
  }

  private start(center: number): void {
    if (!this.module?.instructions[center]) return;
    this.around = new Neighborhood(this.module, center);
    this.center = center;
    this.note = "";
    this.drawing.reachable(center);
    void this.redraw(-1);
  }

  private enter(computation: number): void {
    this.start(this.module?.computations[computation]?.root ?? -1);
  }

  private get computation() {
    return this.module?.computations[this.module.instructions[this.center]?.computation ?? -1];
  }

  private goUp(): void {
    const [caller] = this.module?.callers(this.computation?.index ?? -1) ?? [];
    this.start(caller ?? -1);
  }

  // Growing and shrinking.

  private press(index: number): void {
    const { model } = this;
    const line = this.module?.instructions[index]?.line;
    if (line === undefined) return;
    const known = model.pinned?.origin === "graph" && model.pinned.line === line;
    if (!known) model.pin(model.ofStage(KIND, line, "graph"));
    this.drawing.focus(index);
    this.grow(index);
  }

  private grow(index: number, side?: Side): void {
    const left = this.around?.grow(index, side) ?? 0;
    this.note = left
      ? `${count(left, "neighbor")} left out: at most 200 instructions are shown. ` +
        "Hide some with Delete, or restart from the selected one."
      : "";
    void this.redraw(index);
  }

  private toggle(index: number): void {
    this.around?.toggle(index);
    void this.redraw(index);
  }

  /** Opens a fusion or enters a loop; inside a fusion, closes it. */
  private unfold(index: number): void {
    const { around } = this;
    if (!around) return;
    const [inner] = around.leadsTo(index);
    if (around.canOpen(index)) this.toggle(index);
    else if (inner !== undefined) this.enter(inner);
    else if (around.parent(index) >= 0) this.toggle(around.parent(index));
  }

  private hide(index: number): void {
    const next = this.walk.along(index, ["above", "below"]);
    this.around?.hide(index);
    if (next >= 0) this.drawing.focus(next);
    void this.redraw(next);
  }

  // The selection that all views share.

  private over(index: number | null): void {
    const line = index === null ? undefined : this.module?.instructions[index]?.line;
    this.model.hover(line === undefined ? null : this.model.ofStage(KIND, line, "graph"));
  }

  private follow(): void {
    const { pinned } = this.model;
    const fresh = pinned !== null && pinned !== this.pinned && pinned.origin !== "graph";
    this.pinned = pinned;
    if (!this.around || !this.module) return;
    const index = fresh ? this.indexOf(pinned) : null;
    if (fresh || !pinned) {
      this.note = fresh && index === null ? NO_INSTRUCTION : "";
      this.report();
    }
    if (index !== null && !this.around.shown.has(index)) {
      this.start(index);
      return;
    }
    this.mark();
    if (index !== null && this.reveal(this.drawing.place(index))) this.drawing.reachable(index);
  }

  private reveal(place: ReturnType<Drawing["place"]>): boolean {
    if (place) this.camera.reveal(place);
    if (place) this.move();
    return place !== undefined;
  }

  private mark(): void {
    const now = this.model.selection;
    const indices = (lines: readonly number[]) =>
      new Set(lines.flatMap((line) => this.module?.atLine(line)?.index ?? []));
    const own = now?.origin === KIND || now?.origin === "graph";
    const { soft, hot } = now ? this.model.linesOf(KIND, now) : { soft: [], hot: [] };
    const very = own && now ? [now.line] : hot;
    this.drawing.mark(indices([...soft, ...hot]), indices(very));
  }

  // Drawing.

  /** Lays out and draws; `kept` keeps its place on the screen. */
  private async redraw(kept: number): Promise<void> {
    const { around, model } = this;
    if (!around) return;
    const origin = origins(model);
    const next = scene(around, model.instructions, (line) => origin(line).words);
    this.element.setAttribute("aria-busy", "true");
    try {
      const layout = await this.arranger.arrange(next.plan);
      if (this.gone || around !== this.around) return;
      const before = kept < 0 ? undefined : this.drawing.place(kept);
      const held = this.canvas.contains(document.activeElement);
      this.camera.drawing = layout;
      this.drawing.draw(next, layout, (node) => origin(node.line).dress);
      const after = kept < 0 ? undefined : this.drawing.place(kept);
      const { scale } = this.camera;
      if (before && after) {
        this.camera.pan((before.x - after.x) * scale, (before.y - after.y) * scale);
      } else {
        const place = this.drawing.place(this.center);
        if (place) this.camera.look(place);
        this.drawing.reachable(this.center);
      }
      // A removed box passes the focus on.
      if (held && this.drawing.focused < 0)
        this.drawing.focus(around.visibleFor(kept) ?? this.center);
      this.move();
      this.mark();
      this.fillBar();
      this.report();
      this.element.dataset.thread = this.arranger.thread;
    } catch (error) {
      if (error instanceof Outdated || this.gone) return;
      this.element.classList.add("jxs-empty");
      this.message.show(`The graph could not be laid out: ${String(error)}`);
    }
    this.element.setAttribute("aria-busy", "false");
  }

  private move(): void {
    this.drawing.element.style.transform = this.camera.transform;
  }

  private report(): void {
    const { module, around, computation } = this;
    if (!module || !around || !computation) return;
    const all = module.instructions.length;
    const shown = `${around.shown.size} of ${count(all, "instruction")}`;
    this.canvas.setAttribute("aria-label", `Graph of the optimized HLO: ${shown} shown`);
    this.status.textContent = this.note || `${shown} shown`;
    this.status.title = HELP;
  }

  private fillBar(): void {
    const { module, computation } = this;
    if (module && computation) this.bar.fill(module, computation);
  }

  private zoom(factor: number, at?: { x: number; y: number }): void {
    this.camera.zoom(factor, at);
    this.move();
  }

  /** Shows the whole drawing, or as much of it around the selection as is readable. */
  private fit(): void {
    const selected = this.indexOf(this.model.pinned);
    const place = this.drawing.place(selected ?? -1) ?? this.drawing.place(this.center);
    if (place) this.camera.look(place);
    this.move();
  }
}
