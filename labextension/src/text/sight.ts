/** Scrolling of a text to its lines, also where it is not visible yet. */

import { EditorView } from "@codemirror/view";
import { jump } from "./coloring";
import { unfolding } from "./folding";

export class Sight {
  /** Cancels the scroll that waits for the text to become visible. */
  forget = () => {};

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

  beginAt(place: number, part: number): void {
    stillAround(this.element, () => {
      this.scrollTo(place, true, part);
      this.measure(); // scrolls
    });
  }

  /** Unfolds the parts around a position and scrolls to it; `center` puts it into the upper third. One in the
   *  upper `part` of the pane is not scrolled. */
  scrollTo(place: number, center: boolean, part = 1): void {
    this.forget();
    if (this.view.inView || typeof IntersectionObserver === "undefined") {
      this.scrollNow(place, center, part);
      return;
    }
    // An editor outside of the window measures nothing: with estimated heights it would end elsewhere.
    const watcher = new IntersectionObserver((entries) => {
      if (!entries.some((entry) => entry.isIntersecting)) return;
      watcher.disconnect();
      stillAround(this.element, () => {
        this.measure();
        this.scrollNow(place, center, part);
        this.measure();
      });
    });
    watcher.observe(this.element);
    this.forget = () => watcher.disconnect();
  }

  private scrollNow(place: number, center: boolean, part: number): void {
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
    this.view.dispatch({ effects: far ? [scroll, jump.of(null)] : scroll });
  }
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
