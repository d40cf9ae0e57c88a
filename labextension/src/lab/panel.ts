/** The side panel: the compilations of the active notebook, the newest first. */

import { LabIcon } from "@jupyterlab/ui-components";
import type { Message } from "@lumino/messaging";
import { Widget } from "@lumino/widgets";
import { element } from "../dom";
import type { CompileEventJson } from "../schema/compiles";
import type { NextStepJson } from "../schema/report";
import { CompileList } from "./compilelist";
import { groups, isAgain, matches, stretches, totalLine, totals } from "./compiles";
import type { Feed } from "./feed";
import { ICON } from "./icon";
import { stripOf } from "./strip";

export interface PanelActions {
  /** Shows the cell; false where it is no longer there. */
  open(feed: Feed, event: CompileEventJson): boolean;
  /** Runs the code of a step below the cell of a compilation. */
  take(feed: Feed, step: NextStepJson, event: CompileEventJson): void;
  load(feed: Feed): void;
}

const WORDS: Record<Exclude<Feed["state"], "listening">, string> = {
  "no-kernel": "This notebook has no kernel. Start one to list its compilations here.",
  foreign: "This notebook's kernel does not run Python, so there are no JAX compilations.",
  connecting: "Connecting to the kernel …",
  "not-loaded":
    "Run %load_ext jaxscope in this notebook to list its compilations and their causes.",
};

export class CompilesPanel extends Widget {
  private feed: Feed | null = null;
  private onlyAgain = false;
  private due = 0;
  private readonly total = element("p", "jxs-compiles-total");
  private readonly name = element("p", "jxs-compiles-notebook");
  private readonly strip = element("div");
  private readonly words = element("div", "jxs-compiles-words");
  private readonly tools = element("div", "jxs-compiles-tools");
  private readonly status = element("p", "jxs-compiles-status");
  private readonly filter = element("input");
  private readonly again = button("↻ Recompiles only", "", () => {
    this.onlyAgain = !this.onlyAgain;
    this.again.setAttribute("aria-pressed", String(this.onlyAgain));
    this.update();
  });
  private readonly list: CompileList;

  constructor(private readonly actions: PanelActions) {
    super();
    this.id = "jaxscope-compiles";
    this.title.icon = new LabIcon(ICON);
    this.title.caption = "JAX compilations of this notebook, with their causes";
    this.addClass("jxs-compiles");
    this.node.setAttribute("role", "region");
    this.node.setAttribute("aria-label", "JAX compilations of this notebook");
    this.list = new CompileList(
      (event) => this.open(event),
      (step, event) => this.feed && this.actions.take(this.feed, step, event),
    );
    this.status.setAttribute("role", "status");
    this.makeTools();
    const head = element(
      "header",
      "jxs-compiles-head",
      this.total,
      this.name,
      this.strip,
      this.tools,
    );
    this.node.append(head, this.status, this.words, this.list.element);
    this.update();
  }

  private makeTools(): void {
    this.filter.type = "search";
    this.filter.placeholder = "Filter: function, cell, cause";
    this.filter.setAttribute("aria-label", "Filter the compilations");
    this.filter.addEventListener("input", () => {
      if (this.feed) this.feed.query = this.filter.value;
      this.update();
    });
    this.again.setAttribute("aria-pressed", "false");
    const clear = button(
      "Clear",
      "Clears this list. Badges and jaxscope's log keep their entries.",
      () => this.feed?.clear(),
    );
    this.tools.append(this.filter, this.again, clear);
  }

  /** Shows a different notebook; null: none is open. */
  follow(feed: Feed | null): void {
    if (feed === this.feed) return;
    this.feed?.changed.disconnect(this.update, this);
    this.feed = feed;
    feed?.changed.connect(this.update, this);
    this.status.textContent = "";
    this.update();
  }

  /** Filters the list to one cell. */
  showCell(event: CompileEventJson | undefined): void {
    if (!event || !this.feed) return;
    this.feed.query = event.place.replace(/:\d+$/, ":");
    this.update();
  }

  override dispose(): void {
    if (this.isDisposed) return;
    cancelAnimationFrame(this.due);
    this.follow(null);
    super.dispose();
  }

  /** Lumino merges several calls of `update` into one. */
  protected override onUpdateRequest(_: Message): void {
    const feed = this.feed;
    const listening = feed?.state === "listening";
    const events = feed?.listed ?? [];
    const query = feed?.query ?? "";
    if (this.filter.value !== query) this.filter.value = query;
    const shown = events.filter(
      (event) =>
        (!this.onlyAgain || (feed && isAgain(event, feed.storms))) &&
        matches(event, query, feed?.storms.find(event.serial) ?? null),
    );
    this.total.textContent = listening && feed ? totalLine(totals(events)) : "Compiles";
    const strip = listening && feed ? stripOf(stretches(feed.runs, feed.events)) : null;
    this.strip.replaceChildren(...(strip ? [strip] : []));
    const name = feed?.panel.title.label ?? "";
    this.name.textContent =
      listening && shown.length < events.length ? `${name} · ${shown.length} shown` : name;
    this.tools.hidden = !listening || (feed?.events.length ?? 0) === 0;
    this.list.show(feed && listening ? groups(shown, feed.storms) : [], feed?.fixes ?? null);
    this.words.replaceChildren(...this.wordsOf(events.length, shown.length));
    this.words.hidden = this.words.childNodes.length === 0;
  }

  private wordsOf(events: number, shown: number): Node[] {
    const feed = this.feed;
    if (!feed) return [paragraph("Open a notebook to list its compilations and their causes.")];
    if (feed.state !== "listening") {
      const title =
        "Inserts a cell with %load_ext jaxscope at the top of this notebook, and runs it.";
      const load = button("Add and run it", title, () => this.actions.load(feed));
      const words = paragraph(WORDS[feed.state]);
      return feed.state === "not-loaded" ? [words, load] : [words];
    }
    if (shown) return [];
    if (events) return [paragraph("No compilation matches the filter.")];
    if (feed.events.length) return [paragraph("Cleared. The next compilation appears here.")];
    return [paragraph("Nothing has been compiled yet. Run a cell that uses JAX.")];
  }

  private open(event: CompileEventJson): void {
    if (!this.feed) return;
    const found = this.actions.open(this.feed, event);
    this.status.textContent = found
      ? ""
      : `The cell of ${event.place || event.fun_name} is no longer in this notebook.`;
  }
}

function button(label: string, title: string, pressed: () => void): HTMLButtonElement {
  const node = element("button", "jxs-compiles-button", label);
  node.title = title;
  node.addEventListener("click", pressed);
  return node;
}

/** A sentence with `%load_ext jaxscope` as code. */
function paragraph(sentence: string): HTMLElement {
  const [before = "", after] = sentence.split("%load_ext jaxscope");
  const rest = after === undefined ? [] : [element("code", "", "%load_ext jaxscope"), after];
  return element("p", "", before, ...rest);
}
