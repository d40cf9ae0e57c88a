/** The earlier and the later text of a stage side by side, their changes marked and linked. */

import { button, element, select } from "../dom";
import { LANGUAGES } from "../ir/chosen";
import { Frame } from "../ir/frame";
import { SearchBox } from "../ir/searchbox";
import type { StageDiffJson } from "../schema/report";
import type { TextPane } from "../text/pane";
import type { View } from "../views/view";
import { count } from "../words";
import { type Change, changesOf, type Fate, fate, sameLines } from "./pairs";

/** The sign beside a changed line, since color alone is not enough. */
const SIGNS: Readonly<Record<Fate, string>> = { added: "+", removed: "−", changed: "~" };
const HUES: Readonly<Record<Fate, number>> = { added: 150, removed: 25, changed: 85 };
/** Width in pixels from which both texts fit beside the list of changes. */
const SIDE_BY_SIDE = 880;

const SIDES = ["before", "after"] as const;
type Side = (typeof SIDES)[number];
const LABELS: Readonly<Record<Side, string>> = { before: "earlier", after: "later" };

export class StagesView implements View {
  readonly element = element("div", "jxs-diff");
  private readonly words = element("div", "jxs-diff-lead");
  private readonly list = element("ul", "jxs-diff-groups");
  private readonly status = element("div", "jxs-status");
  private readonly frames: Readonly<Record<Side, Frame>>;
  private readonly body: HTMLElement;
  private readonly watcher: ResizeObserver;
  private readonly steps: HTMLButtonElement[];
  private stage: StageDiffJson;
  private changes: Change[] = [];
  private byLine: Record<Side, Map<number, Change>> = { before: new Map(), after: new Map() };
  private same: ReturnType<typeof sameLines> = { later: new Map(), earlier: new Map() };
  private at = -1;
  /** The texts have not been scrolled to their first change, for want of a height. */
  private unseen = true;

  constructor(stages: readonly StageDiffJson[]) {
    this.stage = stages.find((each) => each.groups.length > 0) ?? (stages[0] as StageDiffJson);
    const titles = stages.map((each) => each.title);
    const chooser = select("Stage", titles, (index) => this.choose(stages[index] ?? this.stage));
    chooser.value = String(stages.indexOf(this.stage));
    this.steps = [
      button("↑ previous", "Go to the previous change (p)", () => this.step(-1)),
      button("↓ next", "Go to the next change (n)", () => this.step(1)),
    ];
    this.frames = { before: this.frame("before"), after: this.frame("after") };
    this.status.setAttribute("role", "status");
    this.list.setAttribute("aria-label", "Changes by line of the code");
    const { before, after } = this.frames;
    this.body = element("div", "jxs-diff-body", this.list, before.element, after.element);
    const search = new SearchBox(
      () => [before, after],
      () => after.pane.focus(),
    );
    const bar = element("div", "jxs-diff-bar", chooser, ...this.steps, search.element);
    this.element.append(bar, this.words, this.body, this.status);
    // In the capture phase: the text panes stop letters.
    this.element.addEventListener("keydown", (event) => this.key(event), true);
    this.watcher = new ResizeObserver(() => this.layout());
    this.watcher.observe(this.element);
    this.choose(this.stage);
  }

  shown(): void {
    this.layout();
  }

  dispose(): void {
    this.watcher.disconnect();
    for (const frame of Object.values(this.frames)) frame.dispose();
  }

  private layout(): void {
    const width = this.element.clientWidth;
    if (!width) return;
    this.element.classList.toggle("jxs-stacked", width < SIDE_BY_SIDE);
    for (const frame of Object.values(this.frames)) frame.pane.layout();
    const [first] = this.changes;
    if (this.unseen && first) this.scrollTo(first, (pane, line) => pane.beginAt(line));
    this.unseen = false;
  }

  private frame(side: Side): Frame {
    const label = LABELS[side];
    const frame = new Frame(side, `${label} text`, LANGUAGES[this.stage.kind], {
      hover: () => undefined,
      leave: () => undefined,
      pick: (line) => this.pick(side, line),
      move: () => undefined,
    });
    frame.head.prepend(element("b", "", label));
    frame.tools.append(...frame.exports(() => `${label}.${this.stage.kind}.txt`));
    // Source locations change with every edit and would hide the real changes.
    frame.pane.hide(new Set(["metadata"]));
    return frame;
  }

  private choose(stage: StageDiffJson): void {
    this.stage = stage;
    this.at = -1;
    this.changes = changesOf(stage.groups);
    this.byLine = { before: new Map(), after: new Map() };
    for (const change of this.changes) {
      if (change.before !== null) this.byLine.before.set(change.before, change);
      if (change.after !== null) this.byLine.after.set(change.after, change);
    }
    this.same = sameLines(stage.before ?? "", stage.after ?? "", this.changes);
    this.words.replaceChildren(...stage.lead.map((words) => element("p", "", words)));
    this.words.hidden = stage.lead.length === 0;
    for (const side of SIDES) this.fill(side);
    for (const step of this.steps) step.disabled = this.changes.length === 0;
    this.groups();
    this.report();
    this.unseen = true;
    this.layout();
  }

  private fill(side: Side): void {
    const frame = this.frames[side];
    const { pane } = frame;
    const text = this.stage[side];
    pane.setLanguage(LANGUAGES[this.stage.kind]);
    if (text === null) {
      frame.showMessage("This text is not in the saved output.");
      return;
    }
    frame.show(text);
    const changes = this.byLine[side];
    pane.dress(new Map([...changes].map(([line, change]) => [line, { hue: HUES[fate(change)] }])));
    pane.light(new Set(), new Set());
    const column = { title: "±", hint: "added, removed or changed", css: "jxs-sign", width: 3 };
    pane.gutter([column], (line) => {
      const change = changes.get(line);
      return change ? [SIGNS[fate(change)]] : null;
    });
  }

  /** The list of changes by line of the code, with links to them. */
  private groups(): void {
    const items = this.stage.groups.map(({ caption, changes }, group) => {
      const words = element("span", "jxs-diff-caption", caption);
      const number = element("span", "jxs-diff-count", count(changes.length, "line"));
      const go = element("button", "jxs-diff-group", words, number);
      go.addEventListener("click", () => {
        this.show(this.changes.findIndex((change) => change.group === group));
      });
      return element("li", "", go);
    });
    this.list.replaceChildren(...items);
    this.list.hidden = items.length === 0;
    this.body.classList.toggle("jxs-no-groups", items.length === 0);
  }

  private step(by: number): void {
    if (!this.changes.length) return;
    const next = this.at < 0 ? (by > 0 ? 0 : this.changes.length - 1) : this.at + by;
    this.show((next + this.changes.length) % this.changes.length);
  }

  /** Marks a change in both texts and scrolls to it. */
  private show(index: number): void {
    const change = this.changes[index];
    if (!change) return;
    this.at = index;
    const beside = this.changes.filter((each) => each.group === change.group);
    for (const side of SIDES) {
      const lines = (changes: readonly Change[]) =>
        new Set(changes.flatMap((each) => each[side] ?? []));
      this.frames[side].pane.light(lines(beside), lines([change]));
    }
    this.scrollTo(change, (pane, line) => pane.reveal(line, true));
    this.report();
  }

  /** Scrolls both texts to a change; a text without the line scrolls to its neighborhood. */
  private scrollTo(change: Change, to: (pane: TextPane, line: number) => void): void {
    for (const side of SIDES) {
      const line = change[side] ?? this.near(side, change);
      if (line) to(this.frames[side].pane, line);
    }
  }

  /** The line of this text that precedes a line that only the other one has. */
  private near(side: Side, change: Change): number | null {
    const from = side === "before" ? change.after : change.before;
    const map = side === "before" ? this.same.earlier : this.same.later;
    for (let line = from ?? 0; line > 0; line--) {
      const found = map.get(line);
      if (found !== undefined) return found;
    }
    return null;
  }

  private pick(side: Side, line: number): void {
    const change = this.byLine[side].get(line);
    if (change) {
      this.show(this.changes.indexOf(change));
      return;
    }
    const other = side === "before" ? "after" : "before";
    const there = (side === "before" ? this.same.later : this.same.earlier).get(line);
    this.at = -1;
    this.frames[side].pane.light(new Set(), new Set([line]));
    this.frames[other].pane.light(new Set(), new Set(there === undefined ? [] : [there]));
    if (there !== undefined) this.frames[other].pane.reveal(there, true);
    const [earlier, later] = side === "before" ? [line, there] : [there, line];
    this.status.textContent =
      there === undefined
        ? `Line ${line} is unchanged. Its position in the other text is unknown.`
        : `Line ${earlier} of the earlier text is line ${later} of the later one; only names differ.`;
  }

  private report(): void {
    const change = this.changes[this.at];
    if (!change) {
      this.status.textContent = this.changes.length
        ? `${count(this.changes.length, "changed line")}. “next”, or n in a text, goes to the first.`
        : "No line changed.";
      return;
    }
    const caption = this.stage.groups[change.group]?.caption ?? "";
    const number = `${this.at + 1} of ${this.changes.length}`;
    this.status.textContent = `${fate(change)} (${number}) · ${caption}`;
  }

  private key(event: KeyboardEvent): void {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target instanceof Element && event.target.closest("input, select")) return;
    const by = { n: 1, p: -1 }[event.key];
    if (!by) return;
    this.step(by);
    event.preventDefault();
    event.stopPropagation();
  }
}
