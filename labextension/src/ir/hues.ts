/** One hue per source line, the same in every pane. */

import type { Equations } from "../links";

/** Degrees. Multiples of it keep the hues of neighboring lines far apart. */
const GOLDEN_ANGLE = 137.508;
const FIRST = 250;

/** source line → hue. The lines of one expression share the hue of its first line. */
export function huesOf(equations: Equations, source: number): ReadonlyMap<number, number> {
  const owners = equations.owners(source);
  const lines = [...new Set(owners.values())].sort((a, b) => a - b);
  const hue = new Map(lines.map((line, i) => [line, Math.round(FIRST + i * GOLDEN_ANGLE) % 360]));
  return new Map([...owners].map(([line, owner]) => [line, hue.get(owner) ?? 0]));
}
