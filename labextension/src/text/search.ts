/** Our own search: the native one of the browser over the whole text, which takes milliseconds for 20 MB. */

/** Matches that are counted; a longer list helps nobody. */
export const MOST_FOUND = 9999;

export interface Hits {
  readonly query: string;
  /** Where each match begins in the text, ascending. */
  readonly at: readonly number[];
  /** Whether there are more than are listed. */
  readonly more: boolean;
  /** The match that is looked at, or -1. */
  readonly now: number;
}

export const NO_HITS: Hits = { query: "", at: [], more: false, now: -1 };

/** Every match, small and large letters alike; the first at or after `start` is looked at. */
export function find(text: string, query: string, start = 0): Hits {
  if (!query) return NO_HITS;
  const at: number[] = [];
  const pattern = new RegExp(query.replace(/[\\^$.*+?()[\]{}|/-]/g, "\\$&"), "gi");
  let more = false;
  for (let match = pattern.exec(text); match; match = pattern.exec(text)) {
    if (at.length === MOST_FOUND) {
      more = true;
      break;
    }
    at.push(match.index);
  }
  const next = firstFrom(at, start);
  return { query, at, more, now: at.length ? next % at.length : -1 };
}

/** The match `by` further on, around the ends. */
export function stepped(hits: Hits, by: number): Hits {
  const total = hits.at.length;
  return total ? { ...hits, now: (((hits.now + by) % total) + total) % total } : hits;
}

/** "3 / 17", "no match", or nothing. */
export function inWords(hits: Hits): string {
  if (!hits.query) return "";
  if (!hits.at.length) return "no match";
  return `${hits.now + 1} / ${hits.at.length}${hits.more ? "+" : ""}`;
}

/** Index of the first match at or after a place. */
export function firstFrom(at: readonly number[], place: number): number {
  let low = 0;
  let high = at.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((at[middle] ?? 0) < place) low = middle + 1;
    else high = middle;
  }
  return low;
}
