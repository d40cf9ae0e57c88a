/** Token colors of the visible lines. During fast scrolling, new lines stay plain. */

import {
  type Extension,
  RangeSetBuilder,
  StateEffect,
  type StateEffectType,
} from "@codemirror/state";
import {
  Decoration,
  type DecorationSet,
  type EditorView,
  type PluginValue,
  ViewPlugin,
  type ViewUpdate,
} from "@codemirror/view";
import { cached } from "../links";
import { LONGEST } from "./hidden";
import { look } from "./look";
import { quoted } from "./quotes";
import { type Language, type Mark, marks } from "./tokens";

/** Pixels per millisecond from which scrolling is too fast to read. */
const FAST = 3;
/** Milliseconds without scrolling after which lines are colored. */
const SETTLED = 80;
/** Lines whose tokens are cached. */
const KEPT = 4000;

const settled = StateEffect.define<null>();
/** The text is about to jump: the target is drawn first and colored later. */
export const jump = StateEffect.define<null>();
const DECORATIONS = new Map<string, Decoration>();

function decoration(css: string): Decoration {
  return cached(DECORATIONS, css, () => Decoration.mark({ class: `jxs-t-${css}` }));
}

class Coloring implements PluginValue {
  decorations: DecorationSet;
  private readonly known = new Map<number, readonly Mark[]>();
  private language: Language;
  private quotes: ReadonlyMap<number, number>;
  private fast = false;
  private top: number;
  private when = 0;
  private timer: ReturnType<typeof setTimeout> | undefined;

  constructor(private readonly view: EditorView) {
    this.language = view.state.field(look).language;
    this.quotes = this.read();
    this.top = view.scrollDOM.scrollTop;
    this.decorations = this.build();
  }

  update(update: ViewUpdate): void {
    const { language } = update.state.field(look);
    const turned = language !== this.language;
    this.language = language;
    if (turned) {
      this.known.clear();
      this.quotes = this.read();
    }
    if (has(update, jump)) this.fly();
    const rested = has(update, settled);
    if (turned || rested || update.viewportChanged || update.docChanged) {
      this.decorations = this.build();
    }
  }

  destroy(): void {
    clearTimeout(this.timer);
  }

  scrolled(): void {
    const { scrollTop } = this.view.scrollDOM;
    const now = performance.now();
    const speed = Math.abs(scrollTop - this.top) / Math.max(1, now - this.when);
    this.top = scrollTop;
    this.when = now;
    if (speed > FAST || this.fast) this.fly();
  }

  /** Leaves new lines plain until the scrolling stops. */
  private fly(): void {
    this.fast = true;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => {
      this.fast = false;
      this.view.dispatch({ effects: settled.of(null) });
    }, SETTLED);
  }

  /** The lines that begin within a string, in Python only. */
  private read(): ReadonlyMap<number, number> {
    return this.language === "python" ? quoted(this.view.state.doc.iterLines()) : new Map();
  }

  private build(): DecorationSet {
    const builder = new RangeSetBuilder<Decoration>();
    const { doc } = this.view.state;
    if (this.known.size > KEPT) this.known.clear();
    for (const { from, to } of this.view.visibleRanges) {
      for (let line = doc.lineAt(from); ; line = doc.line(line.number + 1)) {
        for (const [start, end, css] of this.marks(line.number, line.text)) {
          if (css && line.from + end > from && line.from + start < to) {
            builder.add(line.from + start, line.from + end, decoration(css));
          }
        }
        if (line.to >= to || line.number === doc.lines) break;
      }
    }
    return builder.finish();
  }

  private marks(number: number, text: string): readonly Mark[] {
    let found = this.known.get(number);
    if (!found) {
      if (this.fast) return [];
      const drawn = text.length > LONGEST ? text.slice(0, LONGEST) : text;
      const quote = this.quotes.get(number);
      found = marks(drawn, this.language, quote);
      if (quote) found = [[0, quote, "s"], ...found];
      this.known.set(number, found);
    }
    return found;
  }
}

function has(update: ViewUpdate, effect: StateEffectType<null>): boolean {
  return update.transactions.some((each) => each.effects.some((one) => one.is(effect)));
}

export const coloring: Extension = ViewPlugin.fromClass(Coloring, {
  decorations: (plugin) => plugin.decorations,
  eventObservers: {
    scroll() {
      this.scrolled();
    },
  },
});
