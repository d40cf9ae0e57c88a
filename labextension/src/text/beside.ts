/** The gutter: figures, line number, mark and fold button of each line. */

import { foldedRanges } from "@codemirror/language";
import type { Extension } from "@codemirror/state";
import { type EditorView, GutterMarker, gutter } from "@codemirror/view";
import { foldable, foldedBehind, toggleFold } from "./folding";
import { type Cell, type Column, type LineDress, lineClass, look } from "./look";

/** The mark of a line, and its meaning in words. */
export function markOf(style: LineDress | undefined): readonly [sign: string, title: string] {
  if (style?.flag) return ["!", style.flag];
  if (style?.inexact) return ["≈", "approximate match, not linked by a tag"];
  if (style?.phase === "backward") return ["←", "backward pass"];
  if (style?.phase === "rematerialized") return ["↻", "rematerialized for the backward pass"];
  if (style?.dim) return ["∅", style.dim];
  return ["", ""];
}

class Beside extends GutterMarker {
  constructor(
    readonly line: number,
    readonly css: string,
    readonly style: LineDress | undefined,
    readonly fold: "" | "open" | "folded",
    readonly columns: readonly Column[],
    readonly cells: readonly Cell[] | null,
  ) {
    super();
  }

  override eq(other: Beside): boolean {
    return (
      other.line === this.line &&
      other.css === this.css &&
      other.style === this.style &&
      other.fold === this.fold &&
      other.columns === this.columns
    );
  }

  override toDOM(): HTMLElement {
    const node = document.createElement("div");
    node.className = this.css;
    if (this.style?.hue !== undefined) node.style.setProperty("--h", String(this.style.hue));
    if (this.columns.length) node.append(figures(this.columns, this.cells));
    node.append(span("jxs-number", String(this.line)));
    const [sign, title] = markOf(this.style);
    // Hundreds of rows are created while scrolling: empty parts are left out.
    if (sign) node.append(span("jxs-mark", sign, title));
    if (this.fold) node.append(span("jxs-fold", FOLD_SIGNS[this.fold], FOLD_TITLES[this.fold]));
    return node;
  }
}

const FOLD_SIGNS = { open: "▾", folded: "▸" };
const FOLD_TITLES = { open: "Fold", folded: "Unfold" };
const NO_COLUMNS: readonly Column[] = [];

function span(css: string, text: string, title = ""): HTMLSpanElement {
  return Object.assign(document.createElement("span"), {
    className: css,
    textContent: text,
    title,
  });
}

/** The figures of a line, each as wide as its column. */
export function figures(
  columns: readonly Column[],
  cells: readonly Cell[] | null,
): HTMLSpanElement {
  const row = span("jxs-figures", "");
  columns.forEach((column, index) => {
    const cell = cells?.[index] ?? "";
    const node = span(`jxs-figure ${column.css}`, "", column.hint ?? column.title);
    node.style.width = `${column.width}ch`;
    node.textContent = typeof cell === "string" ? cell : cell.text;
    if (typeof cell !== "string") {
      node.style.setProperty("--bar", `${Math.round(100 * Math.min(1, Math.max(0, cell.bar)))}%`);
    }
    row.append(node);
  });
  return row;
}

function markerOf(view: EditorView, line: number): GutterMarker {
  const state = view.state.field(look);
  const fold = view.state.field(foldable).has(line)
    ? foldedBehind(view.state, line)
      ? "folded"
      : "open"
    : "";
  return new Beside(
    line,
    lineClass(line, state),
    state.dress.get(line),
    fold,
    state.figures?.columns ?? NO_COLUMNS,
    state.figures?.cells(line) ?? null,
  );
}

/** One gutter for everything: half the nodes of four gutters. */
export function beside(pick: (line: number) => void, hover: (line: number) => void): Extension {
  const lineOf = (view: EditorView, from: number) => view.state.doc.lineAt(from).number;
  return gutter({
    class: "jxs-beside",
    lineMarker: (view, block) => markerOf(view, lineOf(view, block.from)),
    lineMarkerChange: (update) =>
      update.startState.field(look) !== update.state.field(look) ||
      foldedRanges(update.startState) !== foldedRanges(update.state),
    domEventHandlers: {
      click(view, block, event) {
        const line = lineOf(view, block.from);
        const target = event.target instanceof Element ? event.target : null;
        if (!(target?.closest(".jxs-fold") && toggleFold(view, line))) pick(line);
        return true;
      },
      mousemove(view, block) {
        hover(lineOf(view, block.from));
        return false;
      },
    },
  });
}
