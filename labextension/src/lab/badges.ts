/** A badge under each cell: its compilations, recompilations and their time. */

import { type Cell, CodeCell } from "@jupyterlab/cells";
import type { NotebookPanel } from "@jupyterlab/notebook";
import type { IDisposable } from "@lumino/disposable";
import { element } from "../dom";
import { stepButton } from "../next";
import type { CompileEventJson } from "../schema/compiles";
import { count } from "../words";
import { byCell, isAvoidable, totalLine, totals } from "./compiles";
import type { Feed } from "./feed";
import { runCode } from "./insert";

const CLASS = "jxs-badge";
const TRY = "jxs-badge-try";

/** The badges of one notebook, found by cell id: a moved cell gets a new widget. */
export class Badges implements IDisposable {
  isDisposed = false;
  private due = 0;

  constructor(
    private readonly panel: NotebookPanel,
    private readonly feed: Feed,
    private readonly open: (cellId: string) => void,
  ) {
    feed.changed.connect(this.later, this);
    panel.content.modelContentChanged.connect(this.later, this);
    this.later();
  }

  dispose(): void {
    if (this.isDisposed) return;
    this.isDisposed = true;
    cancelAnimationFrame(this.due);
    this.feed.changed.disconnect(this.later, this);
    this.panel.content.modelContentChanged.disconnect(this.later, this);
    if (this.panel.isDisposed) return;
    for (const cell of this.panel.content.widgets) this.clear(cell);
  }

  /** At most once per frame. */
  private later(): void {
    if (this.due) return;
    this.due = requestAnimationFrame(() => {
      this.due = 0;
      if (!this.isDisposed && !this.panel.isDisposed) this.update();
    });
  }

  private update(): void {
    const { storms } = this.feed;
    const badged = this.feed.events.filter(
      (event) => event.kind !== "eager" || isAvoidable(event, storms),
    );
    const events = byCell(badged);
    for (const cell of this.panel.content.widgets) {
      const own = events.get(cell.model.id);
      if (!own) this.clear(cell);
      else if (cell.isPlaceholder()) void cell.ready.then(() => this.later());
      else this.show(cell, own);
    }
  }

  private clear(cell: Cell): void {
    badgeOf(cell)?.remove();
    tryOf(cell)?.remove();
  }

  /** The fixes of the cell's latest run. */
  private offer(cell: Cell, badge: HTMLElement): void {
    const number = cell instanceof CodeCell ? cell.model.executionCount : null;
    const step = this.feed.fixes.below(number);
    const known = tryOf(cell);
    if (known?.dataset.code === step?.code) return;
    known?.remove();
    if (!step) return;
    const node = stepButton(step, () => runCode(this.panel, cell.model.id, step.code));
    node.className = TRY;
    node.dataset.code = step.code;
    badge.after(node);
  }

  private show(cell: Cell, events: readonly CompileEventJson[]): void {
    const badge = badgeOf(cell) ?? this.make(cell);
    this.offer(cell, badge);
    const { storms } = this.feed;
    const avoidable = events.filter((event) => isAvoidable(event, storms));
    const [words, again] = this.words(events, avoidable);
    if (badge.dataset.words === words + again) return;
    badge.dataset.words = words + again;
    badge.replaceChildren(document.createTextNode(words));
    if (again) {
      const mark = document.createElement("strong");
      mark.textContent = again;
      badge.prepend(mark, document.createTextNode(" "));
    }
    const latest = avoidable.at(-1);
    const last = latest ?? events.at(-1);
    const storm = last ? storms.find(last.serial) : null;
    const cause = storm?.pattern || last?.cause;
    const fix = storm?.fix || latest?.fix;
    badge.title = [
      "Compiled by JAX for this cell since the kernel started.",
      cause ? `Last: ${cause}` : "",
      latest && fix,
    ]
      .filter(Boolean)
      .join("\n");
  }

  /** All compilations, and those that can be avoided: of functions, where there are any. */
  private words(
    events: readonly CompileEventJson[],
    avoidable: readonly CompileEventJson[],
  ): [string, string] {
    const all = { ...totals(events), recompiles: 0 };
    const functions = avoidable.filter((event) => event.kind !== "eager").length;
    if (functions) return [totalLine(all), `↻ ${count(functions, "recompile")}`];
    if (!avoidable.length) return [totalLine(all), ""];
    const eager = totalLine({ ...all, compiles: 0 });
    return [all.compiles ? totalLine({ ...all, operations: 0 }) : "", `↻ ${eager}`];
  }

  /** Placed between code and output: JupyterLab rewrites the prompt, but keeps foreign elements here. */
  private make(cell: Cell): HTMLElement {
    const badge = element("button", CLASS);
    badge.addEventListener("click", () => this.open(cell.model.id));
    const input = cell.node.querySelector(":scope > .jp-Cell-inputWrapper");
    cell.node.insertBefore(badge, input?.nextSibling ?? null);
    return badge;
  }
}

function tryOf(cell: Cell): HTMLElement | null {
  return cell.node.querySelector(`:scope > .${TRY}`);
}

function badgeOf(cell: Cell): HTMLElement | null {
  return cell.node.querySelector(`:scope > .${CLASS}`);
}
