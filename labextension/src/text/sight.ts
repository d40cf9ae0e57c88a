/** Scrolling of a text to its lines, also where it is not visible yet. */

import type { TransactionSpec } from "@codemirror/state";
import { EditorView } from "@codemirror/view";
import { jump } from "./coloring";
import { unfolding } from "./folding";

export class Sight {
  /** Cancels the scroll that waits for the text to become visible. */
  forget = () => {};
  /** The text was drawn ahead of its first scroll: the editor must not scroll by itself, with the page. */
  ahead = false;

  constructor(
    private readonly view: EditorView,
    private readonly element: Element,
  ) {}

  /** The position at which the first visible line begins. */
  get first(): number {
    return this.view.lineBlockAtHeight(this.top).from;
  }

  private get top(): number {
    return Math.max(0, this.view.scrollDOM.scrollTop);
  }

  /** Makes the editor measure now, by reading a height. */
  measure(): void {
    this.view.requestMeasure();
    this.view.lineBlockAtHeight(0);
  }

  /** Draws a new text around a position before it is measured, so that its beginning is never laid out. */
  drawAt(place: number): void {
    this.ahead = true;
    const effects = [EditorView.scrollIntoView(place, { y: "start" }), jump.of(null)];
    this.view.dispatch({ selection: { anchor: place }, effects });
  }

  /** Scrolls a new text to the line of the cursor, which the editor always renders. */
  beginAt(place: number, part: number): void {
    const scroll = () =>
      stillAround(this.element, () => {
        this.scrollNow(place, true, part, { selection: { anchor: place } });
        this.measure(); // scrolls
      });
    this.inView(isInSight(this.element), scroll);
  }

  /** Unfolds the parts around a position and scrolls to it; `center` puts it into the upper third. */
  scrollTo(place: number, center: boolean): void {
    if (this.view.inView) {
      this.forget();
      this.scrollNow(place, center);
      return;
    }
    this.inView(false, () =>
      stillAround(this.element, () => {
        this.measure();
        this.scrollNow(place, center);
        this.measure();
      }),
    );
  }

  /** Scrolls now, or when the text comes into sight: an editor outside of the window measures nothing, and
   *  with estimated heights it would end elsewhere. */
  private inView(now: boolean, scroll: () => void): void {
    this.forget();
    if (now || typeof IntersectionObserver === "undefined") {
      scroll();
      return;
    }
    const watcher = new IntersectionObserver((entries) => {
      if (!entries.some((entry) => entry.isIntersecting)) return;
      watcher.disconnect();
      scroll();
    });
    watcher.observe(this.element);
    this.forget = () => watcher.disconnect();
  }

  /** One in the upper `part` of the pane is not scrolled. */
  private scrollNow(place: number, center: boolean, part = 1, also: TransactionSpec = {}): void {
    this.ahead = false;
    const effects = unfolding(this.view.state, place);
    if (effects.length) this.view.dispatch({ effects });
    const { top, bottom } = this.view.lineBlockAt(place);
    const height = this.view.scrollDOM.clientHeight;
    const inSight = top >= this.top && bottom <= this.top + height * part;
    const scroll =
      inSight || !center
        ? EditorView.scrollIntoView(place, { y: "nearest", yMargin: 0, xMargin: 40 })
        : EditorView.scrollIntoView(place, { y: "start", yMargin: height / 3, xMargin: 40 });
    const { from, to } = this.view.viewport;
    const far = place < from || place > to;
    this.view.dispatch({ ...also, effects: far ? [scroll, jump.of(null)] : scroll });
  }
}

/** Whether some of an element is in the window, and in every box around it that scrolls. */
function isInSight(element: Element): boolean {
  const { top, bottom } = element.getBoundingClientRect();
  let [first, last] = [Math.max(0, top), Math.min(window.innerHeight, bottom)];
  for (let each = element.parentElement; each && first < last; each = each.parentElement) {
    if (each.scrollHeight <= each.clientHeight) continue;
    if (getComputedStyle(each).overflowY === "visible") continue;
    const box = each.getBoundingClientRect();
    first = Math.max(first, box.top);
    last = Math.min(last, box.bottom);
  }
  return first < last;
}

/** Scrolls inside of `node` without scrolling its ancestors: the editor would scroll the page to its
 *  line, away from where the reader is. */
function stillAround(node: Element, scroll: () => void): void {
  const around: (readonly [Element, number, number])[] = [];
  for (let each = node.parentElement; each; each = each.parentElement) {
    around.push([each, each.scrollTop, each.scrollLeft]);
  }
  scroll();
  for (const [each, top, left] of around) {
    if (each.scrollTop !== top) each.scrollTop = top;
    if (each.scrollLeft !== left) each.scrollLeft = left;
  }
}
