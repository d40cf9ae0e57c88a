/** Decorations of the visible lines besides tokens: colors, selection, matches, placeholders. */

import { foldedRanges } from "@codemirror/language";
import { type Extension, type Line, type Range, RangeSet } from "@codemirror/state";
import {
  Decoration,
  type DecorationSet,
  type EditorView,
  type PluginValue,
  ViewPlugin,
  type ViewUpdate,
  WidgetType,
} from "@codemirror/view";
import { toUnits } from "./columns";
import { LONGEST, spelledOut } from "./hidden";
import { hideable } from "./hide";
import { type Look, lineClass, look } from "./look";
import { firstFrom } from "./search";

const SPAN = Decoration.mark({ class: "jxs-span" });
const FOUND = Decoration.mark({ class: "jxs-found" });
const NOW = Decoration.mark({ class: "jxs-found jxs-now" });

/** A placeholder for a part of the text. */
export class Placeholder extends WidgetType {
  constructor(
    readonly text: string,
    readonly css: string,
    readonly title: string,
  ) {
    super();
  }

  override eq(other: Placeholder): boolean {
    return other.text === this.text && other.css === this.css && other.title === this.title;
  }

  override toDOM(): HTMLElement {
    const node = document.createElement("span");
    node.className = this.css;
    node.textContent = this.text;
    node.title = this.title;
    return node;
  }
}

type Make = (view: EditorView, look: Look) => DecorationSet;

/** Decorations that are rebuilt when the viewport or one of these parts of the look changes. */
function painted(make: Make, parts: readonly (keyof Look)[]): Extension {
  class Painted implements PluginValue {
    decorations: DecorationSet;

    constructor(view: EditorView) {
      this.decorations = make(view, view.state.field(look));
    }

    update(update: ViewUpdate): void {
      const before = update.startState.field(look);
      const now = update.state.field(look);
      const folded = foldedRanges(update.startState) !== foldedRanges(update.state);
      if (update.viewportChanged || folded || parts.some((part) => before[part] !== now[part])) {
        this.decorations = make(update.view, now);
      }
    }
  }
  return ViewPlugin.fromClass(Painted, { decorations: (plugin) => plugin.decorations });
}

/** Calls for every line that is at least partly in the viewport. */
export function eachLine(view: EditorView, call: (line: Line) => void): void {
  const { doc } = view.state;
  let done = 0;
  for (const { from, to } of view.visibleRanges) {
    for (let line = doc.lineAt(from); ; line = doc.line(line.number + 1)) {
      if (line.number > done) call(line);
      done = line.number;
      if (line.to >= to || line.number === doc.lines) break;
    }
  }
}

const lines = painted(
  (view, state) => {
    const found: Range<Decoration>[] = [];
    const folded = foldedRanges(view.state);
    eachLine(view, (line) => {
      const style = state.dress.get(line.number);
      const attributes: Record<string, string> = { "data-line": String(line.number) };
      let css = lineClass(line.number, state);
      if (style?.hue !== undefined) attributes.style = `--h:${style.hue}`;
      if (style?.dim) attributes.title = style.dim;
      folded.between(line.to, line.to, (from, to) => {
        if (from !== line.to) return;
        const doc = view.state.doc;
        if (holds(state, line.number + 1, doc.lineAt(to).number)) css += " jxs-holds";
      });
      found.push(Decoration.line({ class: css, attributes }).range(line.from));
    });
    return RangeSet.of(found);
  },
  ["dress", "soft", "hot", "active"],
);

/** Whether a selected line is inside of a folded part. */
function holds({ soft, hot }: Look, first: number, last: number): boolean {
  for (const set of [hot, soft]) {
    if (set.size < last - first) {
      for (const line of set) if (line >= first && line <= last) return true;
    } else {
      for (let line = first; line <= last; line++) if (set.has(line)) return true;
    }
  }
  return false;
}

const spans = painted(
  (view, { spans }) => {
    const found: Range<Decoration>[] = [];
    if (spans.size) {
      eachLine(view, (line) => {
        for (const [start, end] of spans.get(line.number) ?? []) {
          const from = line.from + Math.max(0, toUnits(line.text, start));
          const to = Math.min(line.to, line.from + toUnits(line.text, end));
          if (from < to) found.push(SPAN.range(from, to));
        }
      });
    }
    return RangeSet.of(found, true);
  },
  ["spans"],
);

const matches = painted(
  (view, { hits }) => {
    const found: Range<Decoration>[] = [];
    for (const { from, to } of view.visibleRanges) {
      const first = firstFrom(hits.at, from - hits.query.length);
      for (let index = first; index < hits.at.length; index++) {
        const at = hits.at[index] ?? 0;
        if (at >= to) break;
        if (found[found.length - 1]?.from === at) continue;
        found.push((index === hits.now ? NOW : FOUND).range(at, at + hits.query.length));
      }
    }
    return RangeSet.of(found, true);
  },
  ["hits"],
);

const placeholders = painted(
  (view, { hide, language, hits }) => {
    const found: Range<Decoration>[] = [];
    eachLine(view, (line) => {
      const text = line.text.length > LONGEST ? line.text.slice(0, LONGEST) : line.text;
      for (const [from, to, what] of hideable(text, language, hide)) {
        const index = firstFrom(hits.at, line.from + from);
        const here = (hits.at[index] ?? Number.POSITIVE_INFINITY) < line.from + to;
        // The part with the current match is shown.
        if (here && hitWithin(hits.at, hits.now, line.from + from, line.from + to)) continue;
        found.push(placeholder(line, from, to, here ? "…" : "", `jxs-hidden jxs-${what}`, here));
      }
      for (const { from, to, text: words } of spelledOut(text)) {
        found.push(placeholder(line, from, to, words, "jxs-spelled", false));
      }
    });
    return RangeSet.of(found, true);
  },
  ["hide", "language", "hits"],
);

function hitWithin(at: readonly number[], now: number, from: number, to: number): boolean {
  const place = at[now] ?? -1;
  return place >= from && place < to;
}

function placeholder(
  line: Line,
  from: number,
  to: number,
  words: string,
  css: string,
  found: boolean,
): Range<Decoration> {
  const title = css.startsWith("jxs-spelled")
    ? "invisible characters"
    : `hidden: ${line.text.slice(from, Math.min(to, from + 300))}`;
  const widget = words
    ? new Placeholder(words, found ? `${css} jxs-found` : css, title)
    : undefined;
  return Decoration.replace({ widget }).range(line.from + from, line.from + to);
}

export const paint: Extension = [lines, spans, matches, placeholders];
