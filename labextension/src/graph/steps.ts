/** The targets of the arrow keys. */

import type { Placed } from "./layout";

type Places = (index: number) => Placed | undefined;

/** Of these, the one nearest to straight ahead; -1 where there is none. */
export function ahead(here: number, next: readonly number[], places: Places): number {
  const x = places(here)?.x ?? 0;
  const away = (index: number) => Math.abs((places(index)?.x ?? Number.POSITIVE_INFINITY) - x);
  return [...next].sort((a, b) => away(a) - away(b))[0] ?? -1;
}

/** Of these, the next one to the left or right at about the same height; -1 where there is none. */
export function beside(
  here: number,
  others: readonly number[],
  way: 1 | -1,
  places: Places,
): number {
  const from = places(here);
  let best = -1;
  let least = Number.POSITIVE_INFINITY;
  for (const index of from ? others : []) {
    const to = places(index);
    if (!from || !to || index === here) continue;
    const dx = (to.x - from.x) * way;
    const dy = Math.abs(to.y - from.y);
    if (dx <= 0 || dy > Math.max(to.height, from.height) || dx + dy >= least) continue;
    least = dx + dy;
    best = index;
  }
  return best;
}
