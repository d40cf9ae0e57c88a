/** Checks of single JSON values: the value where it fits, else undefined. `schema/` is built of them. */

export function string(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

export function number(value: unknown): number | undefined {
  return typeof value === "number" ? value : undefined;
}

export function boolean(value: unknown): boolean | undefined {
  return typeof value === "boolean" ? value : undefined;
}

export function choice<T extends string>(members: readonly T[], value: unknown): T | undefined {
  return members.find((each) => each === value);
}

export function object(value: unknown): Readonly<Record<string, unknown>> | undefined {
  const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
  return isObject ? (value as Record<string, unknown>) : undefined;
}

/** The items that fit; the list itself where all do, as they are. */
export function list<T>(value: unknown, read: (item: unknown) => T | undefined): T[] | undefined {
  if (!Array.isArray(value)) return undefined;
  let found: T[] | null = null;
  for (let i = 0; i < value.length; i++) {
    const fit = read(value[i]);
    if (fit === value[i] && fit !== undefined) found?.push(fit);
    else {
      found ??= value.slice(0, i);
      if (fit !== undefined) found.push(fit);
    }
  }
  return found ?? value;
}

/** The entries whose values fit. */
export function map<T>(
  value: unknown,
  read: (entry: unknown) => T | undefined,
): Record<string, T> | undefined {
  const json = object(value);
  if (!json) return undefined;
  const found: Record<string, T> = {};
  for (const key of Object.keys(json)) {
    const fit = read(json[key]);
    if (fit !== undefined) found[key] = fit;
  }
  return found;
}
