/** Folding in the editor. The folds are computed from the text; the buttons are in the gutter. */

import { codeFolding, foldEffect, foldedRanges, unfoldEffect } from "@codemirror/language";
import { type EditorState, type Extension, type StateEffect, StateField } from "@codemirror/state";
import type { EditorView } from "@codemirror/view";
import { type Fold, folds } from "./folds";
import type { Language } from "./tokens";

interface Range {
  readonly from: number;
  readonly to: number;
}

/** The folds of a text by their first line; the outermost of each line. */
export type Folds = ReadonlyMap<number, Fold>;

export const foldable = StateField.define<Folds>({
  create: () => new Map(),
  update: (value) => value,
});

export function foldsOf(lines: readonly string[], language: Language): Folds {
  const found = new Map<number, Fold>();
  for (const fold of folds(lines, language)) {
    if (!found.has(fold.first)) found.set(fold.first, fold);
  }
  return found;
}

/** The editor's folding, with the number of folded lines as placeholder. */
export function folding(found: Folds): Extension {
  return [
    foldable.init(() => found),
    codeFolding({
      preparePlaceholder: (state, { from, to }) =>
        state.doc.lineAt(to).number - state.doc.lineAt(from).number,
      placeholderDOM: (_view, onclick, lines: number) => {
        const node = document.createElement("span");
        node.className = "jxs-folded";
        node.textContent = `… ${lines} ${lines === 1 ? "line" : "lines"} `;
        node.title = "Unfold";
        node.addEventListener("click", (event) => {
          event.stopPropagation();
          onclick(event);
        });
        return node;
      },
    }),
  ];
}

function rangeOf(state: EditorState, fold: Fold): Range {
  const last = state.doc.line(fold.last);
  const indent = fold.closes ? last.text.length - last.text.trimStart().length : 0;
  return { from: state.doc.line(fold.first).to, to: fold.closes ? last.from + indent : last.to };
}

/** The folded part after a line. */
export function foldedBehind(state: EditorState, line: number): Range | null {
  const { to } = state.doc.line(line);
  let found: Range | null = null;
  foldedRanges(state).between(to, to, (from, end) => {
    if (from === to) found = { from, to: end };
  });
  return found;
}

export function toggleFold(view: EditorView, line: number): boolean {
  const fold = view.state.field(foldable).get(line);
  if (!fold) return false;
  const folded = foldedBehind(view.state, line);
  const effect = folded ? unfoldEffect.of(folded) : foldEffect.of(rangeOf(view.state, fold));
  view.dispatch({ effects: effect });
  return true;
}

/** The smallest fold around a line. */
export function foldAround(state: EditorState, line: number): Fold | null {
  let best: Fold | null = null;
  for (const fold of state.field(foldable).values()) {
    if (fold.first > line) break;
    if (fold.last >= line) best = fold;
  }
  return best;
}

/** Folds every part without one of these lines, and unfolds the others. */
export function foldOthers(view: EditorView, lines: readonly number[]): void {
  const effects: StateEffect<Range>[] = [];
  for (const fold of view.state.field(foldable).values()) {
    const mine = lines.some((line) => line >= fold.first && line <= fold.last);
    effects.push((mine ? unfoldEffect : foldEffect).of(rangeOf(view.state, fold)));
  }
  view.dispatch({ effects });
}

/** Folds every part but the entry, or unfolds all. */
export function foldAll(view: EditorView, on: boolean): void {
  const effects: StateEffect<Range>[] = [];
  if (on) {
    for (const fold of view.state.field(foldable).values()) {
      if (!fold.entry) effects.push(foldEffect.of(rangeOf(view.state, fold)));
    }
  } else {
    foldedRanges(view.state).between(0, view.state.doc.length, (from, to) => {
      effects.push(unfoldEffect.of({ from, to }));
    });
  }
  if (effects.length) view.dispatch({ effects });
}

/** Effects that unfold all parts around a position. */
export function unfolding(state: EditorState, place: number): StateEffect<Range>[] {
  const effects: StateEffect<Range>[] = [];
  foldedRanges(state).between(place, place, (from, to) => {
    if (from < place && place <= to) effects.push(unfoldEffect.of({ from, to }));
  });
  return effects;
}
