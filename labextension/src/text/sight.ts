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
