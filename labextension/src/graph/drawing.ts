/** A neighborhood as SVG: boxes for mouse and keyboard, edges between them. */

import type { Layout, Placed } from "./layout";
import { frameId, type NodeWords, nodeId, type Scene, type Stub } from "./scene";
import { arrow, curve, svg } from "./svg";

export interface Pressed {
  /** Pressed, by a click or Enter. */
  node(index: number): void;
  stub(stub: Stub): void;
  /** Opens or closes its computation. */
  toggle(index: number): void;
  enter(computation: number): void;
  /** Hovered or focused; null when it is left. */
  over(index: number | null): void;
}

/** The color of an instruction. */
export interface Dress {
  hue?: number;
  inexact?: boolean;
}

export class Drawing {
  readonly element: SVGGElement;
  private readonly frames = svg("g");
  private readonly lines = svg("g", { "aria-hidden": "true" });
  private readonly boxes = svg("g");
  private readonly nodes = new Map<number, SVGGElement>();
  private readonly ends: { from: number; to: number; element: SVGGElement }[] = [];
  private places: Record<string, Placed> = {};
  private focusable = -1;

  constructor(private readonly pressed: Pressed) {
    this.element = svg("g", { class: "jxs-camera" }, this.frames, this.lines, this.boxes);
  }

  place(index: number): Placed | undefined {
    return this.places[nodeId(index)] ?? this.places[frameId(index)];
  }

  draw(scene: Scene, layout: Layout, dress: (node: NodeWords) => Dress): void {
    this.places = layout.places;
    this.frames.replaceChildren(...scene.frames.flatMap((frame) => this.frame(frame)));
    this.ends.length = 0;
    const lines: SVGGElement[] = [];
    layout.lines.forEach((line, i) => {
      const words = scene.lines[i];
      const element = lineNode(line, words?.words ?? "", words?.title ?? "");
      if (words) this.ends.push({ from: words.from, to: words.to, element });
      lines.push(element);
    });
    this.lines.replaceChildren(...lines);
    const kept = new Map<number, SVGGElement>();
    const boxes: SVGGElement[] = [];
    for (const node of scene.nodes) {
      const place = layout.places[nodeId(node.index)];
      if (!place) continue;
      const group = this.nodes.get(node.index) ?? svg("g");
      this.fill(group, node, place, dress(node));
      kept.set(node.index, group);
      boxes.push(group);
    }
    for (const stub of scene.stubs) {
      const place = layout.places[stub.id];
      if (place) boxes.push(this.stub(stub, place));
    }
    // Remaining nodes are reused: they glide to their new places and keep the focus.
    const wanted = new Set(boxes);
    for (const old of [...this.boxes.children]) {
      if (!wanted.has(old as SVGGElement)) old.remove();
    }
    for (const box of boxes) if (box.parentNode !== this.boxes) this.boxes.append(box);
    this.nodes.clear();
    for (const [index, group] of kept) this.nodes.set(index, group);
    if (!this.nodes.has(this.focusable)) this.focusable = scene.nodes[0]?.index ?? -1;
    this.reachable(this.focusable);
  }

  /** Makes a node the one that the tab key reaches. */
  reachable(index: number): void {
    if (!this.nodes.has(index)) return;
    this.main(this.focusable)?.setAttribute("tabindex", "-1");
    this.focusable = index;
    this.main(index)?.setAttribute("tabindex", "0");
  }

  get focused(): number {
    for (const [index, group] of this.nodes) {
      if (group.contains(document.activeElement)) return index;
    }
    return -1;
  }

  focus(index: number): void {
    this.reachable(index);
    this.main(index)?.focus({ preventScroll: true });
  }

  mark(soft: ReadonlySet<number>, hot: ReadonlySet<number>): void {
    for (const [index, group] of this.nodes) {
      group.classList.toggle("jxs-hot", hot.has(index));
      group.classList.toggle("jxs-soft", soft.has(index) && !hot.has(index));
      this.main(index)?.setAttribute("aria-pressed", String(hot.has(index)));
    }
    for (const { from, to, element } of this.ends) {
      element.classList.toggle("jxs-near", hot.has(from) || hot.has(to));
    }
  }

  private main(index: number): SVGElement | null {
    return this.nodes.get(index)?.querySelector<SVGElement>(".jxs-node-main") ?? null;
  }

  private fill(group: SVGGElement, node: NodeWords, place: Placed, dress: Dress): void {
    const { width, height } = place;
    const left = -width / 2;
    const top = -height / 2;
    const button = node.canOpen || node.leadsTo.length > 0;
    const hue = dress.hue;
    group.setAttribute("class", `jxs-node${hue === undefined ? " jxs-plain" : ""}`);
    group.classList.toggle("jxs-inexact", dress.inexact === true);
    if (hue !== undefined) group.style.setProperty("--jxs-h", String(hue));
    group.style.transform = `translate(${place.x}px, ${place.y}px)`;
    group.dataset.line = String(node.line);

    // A node that only moves is reused, since it may have the focus.
    const key = [node.label, width, height, node.figures, node.share].join("\n");
    if (group.dataset.key === key) return;
    const focused = group.contains(document.activeElement);
    group.dataset.key = key;
    let y = top + 16;
    const words = [svg("text", { x: left + 13, y, class: "jxs-opcode" }, node.opcode)];
    for (const [text, css] of [
      [node.name, "jxs-name"],
      [node.figures, "jxs-figs"],
    ] as const) {
      if (!text) continue;
      y += 14;
      words.push(svg("text", { x: left + 13, y, class: css }, text));
    }
    const main = svg(
      "g",
      { class: "jxs-node-main", role: "button", tabindex: "-1", "aria-label": node.label },
      svg("title", {}, node.label),
      svg("rect", { x: left, y: top, width, height, rx: 5, class: "jxs-box" }),
      svg("path", { d: `M${left + 2.5} ${top + 5}v${height - 10}`, class: "jxs-stripe" }),
      ...words,
    );
    if (node.share > 0) {
      const room = width - 24;
      main.append(
        svg("rect", { x: left + 13, y: y + 5, width: room, height: 4, rx: 2, class: "jxs-track" }),
        svg("rect", {
          x: left + 13,
          y: y + 5,
          width: Math.max(room * Math.min(node.share, 1), 1),
          height: 4,
          rx: 2,
          class: "jxs-share",
        }),
      );
    }
    main.addEventListener("click", () => this.pressed.node(node.index));
    main.addEventListener("pointerenter", () => this.pressed.over(node.index));
    main.addEventListener("pointerleave", () => this.pressed.over(null));
    main.addEventListener("focus", () => this.pressed.over(node.index));
    main.addEventListener("blur", () => this.pressed.over(null));
    group.replaceChildren(main);
    if (button) group.append(this.opener(node, width / 2 - 13, top + 12));
    if (focused) main.focus({ preventScroll: true });
  }

  /** The button that opens a fusion, or enters the body of a loop. */
  private opener(node: NodeWords, x: number, y: number): SVGGElement {
    const [target] = node.leadsTo;
    const label = target ? `Enter %${target.name}` : `Open ${node.opcode} ${node.name}`;
    const press = () =>
      target ? this.pressed.enter(target.computation) : this.pressed.toggle(node.index);
    return small(label, target ? "M-3 -3.5l4 3.5l-4 3.5" : "M-4 0h8M0 -4v8", x, y, press);
  }

  private frame({ index, words }: { index: number; words: string }): SVGGElement[] {
    const place = this.places[frameId(index)];
    if (!place) return [];
    const { x, y, width, height } = place;
    const left = x - width / 2;
    const top = y - height / 2;
    const letters = Math.max(Math.floor((width - 40) / 6.7), 4);
    const shown = words.length > letters ? `${words.slice(0, letters - 1)}…` : words;
    const group = svg(
      "g",
      { class: "jxs-frame" },
      svg("rect", { x: left, y: top, width, height, rx: 8 }),
      svg("text", { x: left + 10, y: top + 15 }, shown),
      small(`Close ${words}`, "M-4 0h8", left + width - 14, top + 11, () =>
        this.pressed.toggle(index),
      ),
    );
    return [group];
  }

  private stub(stub: Stub, { x, y, width, height }: Placed): SVGGElement {
    const label = `Show ${stub.words.slice(1)} more`;
    const group = svg(
      "g",
      { class: "jxs-stub", role: "button", tabindex: "-1", "aria-label": label },
      svg("title", {}, label),
      svg("rect", { x: -width / 2, y: -height / 2, width, height, rx: height / 2 }),
      svg("text", { x: 0, y: 4, "text-anchor": "middle" }, stub.words),
    );
    group.style.transform = `translate(${x}px, ${y}px)`;
    group.dataset.stub = stub.id;
    group.addEventListener("click", () => this.pressed.stub(stub));
    return group;
  }
}

function small(label: string, d: string, x: number, y: number, press: () => void): SVGGElement {
  const group = svg(
    "g",
    { class: "jxs-opener", role: "button", tabindex: "-1", "aria-label": label },
    svg("title", {}, label),
    svg("rect", { x: -8, y: -8, width: 16, height: 16, rx: 4 }),
    svg("path", { d }),
  );
  group.style.transform = `translate(${x}px, ${y}px)`;
  group.addEventListener("click", press);
  return group;
}

function lineNode(line: Layout["lines"][number], words: string, title: string): SVGGElement {
  const group = svg(
    "g",
    { class: words ? "jxs-arc" : "jxs-arc jxs-more" },
    svg("path", { d: curve(line.points), class: "jxs-curve" }),
    svg("path", { d: arrow(line.points), class: "jxs-arrow" }),
  );
  if (words) {
    group.append(
      svg(
        "text",
        { x: line.x, y: line.y + 4, "text-anchor": "middle" },
        svg("title", {}, title),
        words,
      ),
    );
  }
  return group;
}
