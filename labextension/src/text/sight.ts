/** When a text comes into sight: out of it an editor measures nothing. */

/** Calls `seen` once a part of `node` is in the window; the answer takes that back. */
export function whenSeen(node: Element, seen: () => void): () => void {
  const watcher = new IntersectionObserver((entries) => {
    if (!entries.some((entry) => entry.isIntersecting)) return;
    watcher.disconnect();
    seen();
  });
  watcher.observe(node);
  return () => watcher.disconnect();
}

/** Scrolls inside of `node` and nothing that `node` stands in: the editor would bring its line into
 *  the window, and so take the reader away from where they are. */
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
