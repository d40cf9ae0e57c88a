/** Columns: characters in Python and in the report, UTF-16 units in JavaScript. */

const PAIRED = /[\ud800-\udbff][\udc00-\udfff]/;

/** The unit at which a character begins. */
export function toUnits(text: string, column: number): number {
  if (column <= 0 || !PAIRED.test(text)) return column;
  let unit = 0;
  for (let left = column; left > 0 && unit < text.length; left--) {
    unit += (text.codePointAt(unit) ?? 0) > 0xffff ? 2 : 1;
  }
  return unit;
}

/** The character that contains a unit. */
export function toCharacters(text: string, unit: number): number {
  if (unit <= 0 || !PAIRED.test(text)) return unit;
  let column = 0;
  for (let at = 0; at < unit && at < text.length; column++) {
    at += (text.codePointAt(at) ?? 0) > 0xffff ? 2 : 1;
    if (at > unit) return column;
  }
  return column;
}
