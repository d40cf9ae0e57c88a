/** The search through all texts of a report: one box, next and previous, counts by pane. */

import { button, element } from "../dom";
import { MOST_FOUND } from "../text/search";
import type { Frame } from "./frame";

export class SearchBox {
  readonly element: HTMLElement;
  private readonly input: HTMLInputElement;
  private readonly output = element("output", "jxs-found-count");
  private readonly steps: HTMLButtonElement[];
  /** The pane of the current match. */
  private at = 0;

  /** `frames` are the texts, `back` takes the focus at the end of the search. */
  constructor(
    private readonly frames: () => readonly Frame[],
    private readonly back: () => void,
  ) {
    this.input = element("input", "jxs-search");
    this.input.type = "search";
    this.input.placeholder = "Search";
    this.input.setAttribute("aria-label", "Search in all panes");
    this.input.addEventListener("input", () => this.again());
    this.input.addEventListener("keydown", (event) => this.key(event));
    this.output.setAttribute("aria-live", "polite");
    this.steps = [
      button("‹", "Go to the previous match", () => this.step(-1)),
      button("›", "Go to the next match", () => this.step(1)),
    ];
    for (const step of this.steps) step.hidden = true;
    this.element = element("span", "jxs-find", this.output, this.input, ...this.steps);
  }

  focus(): void {
    this.input.focus();
    this.input.select();
  }

  /** Searches the panes that are open now. */
  again(): void {
    for (const frame of this.frames()) frame.search(this.input.value);
    this.at = Math.max(
      0,
      this.frames().findIndex(({ pane }) => pane.hits.at.length),
    );
    this.count();
  }

  /** Goes to the next match; from the last one of a pane to the first of the next pane. */
  step(by: number): void {
    const frames = this.frames();
    const here = frames[this.at]?.pane;
    const next = (here?.hits.now ?? 0) + by;
    if (here && next >= 0 && next < here.hits.at.length) here.step(by);
    else this.turn(by);
    this.count();
  }

  private turn(by: number): void {
    const frames = this.frames();
    for (let i = 1; i <= frames.length; i++) {
      const at = (this.at + by * i + frames.length * i) % frames.length;
      const pane = frames[at]?.pane;
      if (!pane?.hits.at.length) continue;
      this.at = at;
      const wanted = by > 0 ? 0 : pane.hits.at.length - 1;
      pane.step(wanted - pane.hits.now);
      return;
    }
  }

  private key(event: KeyboardEvent): void {
    if (event.key === "Enter") this.step(event.shiftKey ? -1 : 1);
    else if (event.key === "Escape") {
      this.input.value = "";
      this.again();
      this.back();
    } else return;
    event.preventDefault();
    event.stopPropagation();
  }

  /** `3 / 17: jaxpr 5, optimized HLO 12`. */
  private count(): void {
    const frames = this.frames();
    const found = frames.filter(({ pane }) => pane.hits.at.length);
    const total = found.reduce((sum, { pane }) => sum + pane.hits.at.length, 0);
    const before = frames
      .slice(0, this.at)
      .reduce((sum, each) => sum + each.pane.hits.at.length, 0);
    const by = found.map(({ label, pane }) => {
      const { at, more } = pane.hits;
      return `${label} ${more ? `${MOST_FOUND}+` : at.length}`;
    });
    const now = before + (frames[this.at]?.pane.hits.now ?? 0) + 1;
    const words = total ? `${now} / ${total}: ${by.join(", ")}` : "no match";
    this.output.textContent = this.input.value ? words : "";
    this.output.title = this.output.textContent;
    for (const step of this.steps) step.hidden = !total;
  }
}
