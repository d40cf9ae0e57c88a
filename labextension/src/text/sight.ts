/** Visibility of a text: an editor outside of the window measures nothing. */

/** Calls `seen` once a part of `node` is in the window; returns a function that cancels it. */
export function whenSeen(node: Element, seen: () => void): () => void {
  const watcher = new IntersectionObserver((entries) => {
    if (!entries.some((entry) => entry.isIntersecting)) return;
    watcher.disconnect();
    seen();
  });
  watcher.observe(node);
  return () => watcher.disconnect();
}

/** Scrolls inside of `node` without scrolling its ancestors: the editor would scroll the page to its
 *  line, away from where the reader is. */
export function stillAround(node: Element, scroll: () => void): void {
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
