/** A read-only text of any length, with colors, figures, folding and search.
 *
 *  CodeMirror's style sheet in a page with a Content-Security-Policy: `style-mod` writes it
 *  - into `adoptedStyleSheets` when the editor is in a shadow root, where `style-src` does not apply;
 *  - else into one `<style>` element in the head of the document. Its text depends on what was mounted first, so no
 *    hash can allow it; it carries `EditorView.cspNonce`, and the page must allow a nonce (or 'unsafe-inline').
 *  The pane uses the nonce of the page's own `<style nonce>`: a page puts the same fresh nonce into its policy and
 *  on its style element. Single styles are set through `style.cssText`, which no policy forbids.
 */

import { Compartment, EditorState } from "@codemirror/state";
import { EditorView } from "@codemirror/view";
import { splitLines } from "../links";
import { beside, markOf } from "./beside";
import { coloring } from "./coloring";
import { cuts, documentOf, readOnly } from "./fixed";
import {
  foldAll,
  foldAround,
  foldedBehind,
  folding,
  foldOthers,
  foldsOf,
  toggleFold,
} from "./folding";
import { visible } from "./hidden";
import type { Hideable } from "./hide";
import { handleKey } from "./keys";
import {
  type Cell,
  type Column,
  changeLook,
  type Dress,
  type Look,
  look,
  PLAIN,
  type Spans,
} from "./look";
import { Mouse } from "./mouse";
import { paint } from "./paint";
import { Ruler } from "./ruler";
import { find, type Hits, stepped } from "./search";
import { Sight } from "./sight";
import type { Language } from "./tokens";

export type { Hideable } from "./hide";
export type { Cell, Column, Dress, LineDress, Spans } from "./look";
export type { Language } from "./tokens";

/** Columns in characters, as in Python; -1 where there is no character. Lines from 1. */
export interface PaneEvents {
  hover(line: number, column: number): void;
  leave(): void;
  /** A click, or Enter. */
  pick(line: number, column: number): void;
  /** The active line was moved by the keyboard. */
  move(line: number): void;
  /** The next or the previous match; without this, the one in the pane. */
  step?(by: number): void;
}

export class TextPane {
  readonly element = document.createElement("div");
  private readonly spoken = document.createElement("div");
  private readonly view: EditorView;
  private readonly ruler: Ruler;
  private readonly wrapping = new Compartment();
  private text = "";
  private lines: readonly string[] = [];
  /** The text with the positions of the editor: every line ends in one character. */
  private flat = "";
  private wrap = false;
  private readonly sight: Sight;
  private readonly mouse: Mouse;

  constructor(
    private label: string,
    private language: Language,
    private readonly events: PaneEvents,
  ) {
    this.element.className = "jxs-text";
    this.spoken.className = "jxs-away";
    this.spoken.setAttribute("role", "status");
    this.mouse = new Mouse({
      hover: (line, column) => events.hover(line, column),
      leave: () => events.leave(),
      pick: (line, column) => this.pick(line, column),
    });
    this.view = new EditorView({ state: this.state({ ...PLAIN, language }) });
    this.ruler = new Ruler(this.view);
    this.sight = new Sight(this.view, this.element);
    const body = document.createElement("div");
    body.className = "jxs-text-body";
    body.append(this.view.dom, this.ruler.element);
    this.element.append(body, this.spoken);
    this.element.addEventListener("mouseleave", () => this.mouse.left());
    requestAnimationFrame(() => {
      // marimo shows a widget in a shadow root, which needs the editor's own styles.
      const root = this.element.getRootNode();
      if (root instanceof ShadowRoot) this.view.setRoot(root);
    });
  }

  // The text.

  /** Shows a text from its beginning; `beginAt` scrolls it to `line`. */
  show(text: string, lines: readonly string[] = splitLines(text), line = 1): void {
    if (text === this.text) return;
    this.text = text;
    this.lines = lines;
    this.flat = text.includes("\r") ? this.lines.join("\n") : text;
    const { language, hide, figures } = this.now;
    this.view.setState(this.state({ ...PLAIN, language, hide, figures }));
    this.view.scrollDOM.scrollTop = this.view.scrollDOM.scrollLeft = 0;
    this.sight.forget();
    this.sight.ahead = false;
    if (line > 1) this.sight.drawAt(this.view.state.doc.line(line).from);
    this.mouse.forget();
    this.rule();
  }

  /** The number of lines. */
  get length(): number {
    return this.lines.length;
  }

  setLanguage(language: Language): void {
    if (language === this.language) return;
    this.language = language;
    const { state } = this.view;
    this.view.setState(this.state({ ...this.now, language }, state.selection.main.head));
  }

  /** Sets the accessible name. */
  setLabel(label: string): void {
    this.label = label;
    this.view.contentDOM.setAttribute("aria-label", label);
  }

  private get now(): Look {
    return this.view.state.field(look);
  }

  private state(value: Look, cursor = 0): EditorState {
    const doc = documentOf(this.lines);
    return EditorState.create({
      doc,
      selection: { anchor: Math.min(cursor, doc.length) },
      extensions: [
        look.init(() => value),
        readOnly(() => this.label),
        this.wrapping.of(this.wrap ? EditorView.lineWrapping : []),
        cuts(this.lines, doc),
        folding(foldsOf(this.lines, value.language)),
        beside(
          (line) => this.pick(line, -1),
          (line) => this.mouse.hover(line, -1),
        ),
        paint,
        coloring,
        EditorView.scrollHandler.of(() => this.sight.ahead),
        EditorView.domEventHandlers({
          keydown: (event, view) => this.key(event, view),
          mousemove: (event, view) => this.lines.length > 0 && this.mouse.moved(event, view),
          click: (event, view) => this.lines.length > 0 && this.mouse.clicked(event, view),
        }),
        EditorView.updateListener.of((update) => {
          if (update.geometryChanged) this.rule();
        }),
      ],
    });
  }

  // The appearance.

  /** Sets the styles of the lines until the text changes. */
  dress(dress: Dress, flags: readonly number[] = []): void {
    this.change({ dress, flags });
  }

  /** Highlights the selection: `soft` all of it, `hot` its center, `spans` parts of lines. */
  light(soft: ReadonlySet<number>, hot: ReadonlySet<number>, spans: Spans = NO_SPANS): void {
    const { now } = this;
    const all = [soft, hot, spans, now.soft, now.hot, now.spans];
    if (all.some(({ size }) => size)) this.change({ soft, hot, spans });
  }

  /** Shows figures beside the lines; without columns, none. */
  gutter(columns: readonly Column[], cells: (line: number) => readonly Cell[] | null): void {
    this.change({ figures: columns.length ? { columns, cells } : null });
    this.layout();
  }

  setWrap(on: boolean): void {
    if (on === this.wrap) return;
    this.wrap = on;
    this.view.dispatch({ effects: this.wrapping.reconfigure(on ? EditorView.lineWrapping : []) });
  }

  /** Fills every line with the color of its source line. */
  setRainbow(on: boolean): void {
    this.element.classList.toggle("jxs-rainbow", on);
  }

  /** Hides parts of the text; search and copies keep them. */
  hide(what: ReadonlySet<Hideable>): void {
    this.change({ hide: what });
  }

  foldAll(on: boolean): void {
    foldAll(this.view, on);
  }

  foldOthers(lines: readonly number[]): void {
    foldOthers(this.view, lines);
  }

  private change(part: Partial<Look>): void {
    this.view.dispatch({ effects: changeLook.of(part) });
    this.rule();
  }

  private rule(): void {
    this.ruler.later(this.now);
  }

  // Search.

  /** Marks every match and goes to the next one; returns their number. */
  search(query: string): number {
    if (query === this.now.hits.query) return this.now.hits.at.length;
    const before = this.now.hits.at[this.now.hits.now];
    const hits = find(this.flat, query, before ?? this.sight.first);
    this.change({ hits });
    this.goToMatch();
    return hits.at.length;
  }

  step(by: number): void {
    this.change({ hits: stepped(this.now.hits, by) });
    this.goToMatch();
  }

  /** The matches of the search. */
  get hits(): Hits {
    return this.now.hits;
  }

  private goToMatch(): void {
    const { hits } = this.now;
    const at = hits.at[hits.now];
    if (at !== undefined) this.sight.scrollTo(at, true);
  }

  // Positions.

  /** Scrolls to a line and unfolds the parts around it; `center` puts it into the upper third. */
  reveal(line: number, center = true): void {
    const { doc } = this.view.state;
    if (line < 1 || line > doc.lines) return;
    this.sight.scrollTo(doc.line(line).from, center);
  }

  /** Scrolls a new text to a line, which should be in the upper `part` of the pane. */
  beginAt(line: number, part = 1): void {
    const { doc } = this.view.state;
    if (line < 1 || line > doc.lines) return;
    this.sight.beginAt(doc.line(line).from, part);
  }

  focus(): void {
    this.view.focus();
  }

  /** Call after a change of size or visibility. */
  layout(): void {
    this.view.requestMeasure();
    this.rule();
  }

  dispose(): void {
    this.sight.forget();
    this.mouse.forget();
    this.ruler.dispose();
    this.view.destroy();
    this.element.remove();
  }

  // Input.

  private key(event: KeyboardEvent, view: EditorView): boolean {
    return handleKey(event, view, {
      move: (by) => this.move(by),
      pick: () => this.now.active && this.events.pick(this.now.active, -1),
      step: (by) => (this.events.step ? this.events.step(by) : this.step(by)),
      fold: (on) => this.fold(on),
    });
  }

  private move(by: number): void {
    const { doc } = this.view.state;
    if (!this.lines.length) return;
    const first = doc.lineAt(this.sight.first).number;
    const here = this.now.active || first - Math.sign(by);
    const line = this.unfolded(Math.min(Math.max(1, here + by), doc.lines), by);
    this.change({ active: line });
    // Without a selection, copying takes the line of the cursor.
    this.view.dispatch({ selection: { anchor: doc.line(line).from } });
    this.reveal(line, false);
    this.announce(line);
    this.events.move(line);
  }

  /** The line, or the next one in this direction that is not folded. */
  private unfolded(line: number, by: number): number {
    const { doc } = this.view.state;
    const block = this.view.lineBlockAt(doc.line(line).from);
    const head = doc.lineAt(block.from).number;
    const next = doc.lineAt(block.to).number + 1;
    if (head === line) return line;
    return by > 0 && next <= doc.lines ? next : head;
  }

  private fold(on: boolean): boolean {
    const { state } = this.view;
    const fold = foldAround(state, this.now.active);
    if (!fold || Boolean(foldedBehind(state, fold.first)) === on) return false;
    toggleFold(this.view, fold.first);
    if (on) this.move(fold.first - this.now.active);
    return true;
  }

  /** Announces a line to screen readers: its text and the meaning of its mark. */
  private announce(line: number): void {
    const [, title] = markOf(this.now.dress.get(line));
    const words = visible((this.lines[line - 1] ?? "").trim().slice(0, 200));
    this.spoken.textContent = [`line ${line}: ${words || "empty"}`, title]
      .filter(Boolean)
      .join("; ");
  }

  private pick(line: number, column: number): void {
    this.change({ active: line });
    this.events.pick(line, column);
  }
}

const NO_SPANS: Spans = new Map();
