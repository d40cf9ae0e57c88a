/** Columns: Python and the report count characters, JavaScript counts UTF-16 units. */

const PAIRED = /[\ud800-\udbff][\udc00-\udfff]/;

/** The unit at which the character of that number begins. */
export function toUnits(text: string, column: number): number {
  if (column <= 0 || !PAIRED.test(text)) return column;
  let unit = 0;
  for (let left = column; left > 0 && unit < text.length; left--) {
    unit += (text.codePointAt(unit) ?? 0) > 0xffff ? 2 : 1;
  }
  return unit;
}

/** The number of the character that holds a unit. */
export function toCharacters(text: string, unit: number): number {
  if (unit <= 0 || !PAIRED.test(text)) return unit;
  let column = 0;
  for (let at = 0; at < unit && at < text.length; column++) {
    at += (text.codePointAt(at) ?? 0) > 0xffff ? 2 : 1;
    if (at > unit) return column;
  }
  return column;
}
