/** Numbers as people read them, in 3 significant digits: the twin of `jaxscope/words.py`, with the same golden cases. */

export const UNKNOWN = "—";

const PREFIXES = ["", "k", "M", "G", "T", "P", "E"];
const TIMES: readonly (readonly [string, number])[] = [
  ["s", 1],
  ["ms", 1e-3],
  ["µs", 1e-6],
  ["ns", 1e-9],
];

/** So many decimals. A tie goes to the even digit, as in Python; `toFixed` rounds it up. */
function fixed(value: number, decimals: number): string {
  const text = value.toFixed(decimals);
  const isTie = (Math.abs(value) * 2 ** (decimals + 1)) % 2 === 1;
  if (!isTie || Number(text.at(-1)) % 2 === 0) return text;
  return (value - (Math.sign(value) * 10 ** -decimals) / 2).toFixed(decimals);
}

/** All of the integer part, else 3 digits, no trailing zeros: `12.3`, `1240`, `2`. */
export function significant(value: number): string {
  if (!Number.isFinite(value)) return UNKNOWN;
  if (value === 0) return "0";
  const decimals = Math.max(0, 2 - Math.floor(Math.log10(Math.abs(value))));
  const text = fixed(value, Math.min(decimals, 12));
  return text.includes(".") ? text.replace(/\.?0+$/, "") : text;
}

export type Figure = number | null | undefined;

function isKnown(value: Figure): value is number {
  return Number.isFinite(value);
}

function si(value: Figure, unit: string): string {
  if (!isKnown(value)) return UNKNOWN;
  let scaled = value;
  let index = 0;
  // 999.6 becomes 1 k, not 1000.
  while (index < PREFIXES.length - 1 && Math.abs(Number(scaled.toPrecision(3))) >= 1000) {
    scaled /= 1000;
    index++;
  }
  return `${significant(scaled)} ${PREFIXES[index]}${unit}`;
}

/** A bare figure for a narrow column: `1.05 M`. */
export function short(value: Figure): string {
  return si(value, "").trimEnd();
}

/** `1.2 MFLOP`. */
export function flops(value: Figure): string {
  return si(value, "FLOP");
}

/** `64 kB`. */
export function size(value: Figure): string {
  return si(value, "B");
}

/** `12.3 µs`, `42 ms`, `12.4 min`. */
export function seconds(value: Figure): string {
  if (!isKnown(value)) return UNKNOWN;
  if (value === 0) return "0 s";
  const size = Math.abs(value);
  if (size >= 7200) return `${significant(value / 3600)} h`;
  if (size >= 600) return `${significant(value / 60)} min`;
  const [unit, length] =
    TIMES.find(([, length]) => Number((size / length).toPrecision(3)) >= 1) ??
    (["ns", 1e-9] as const);
  return `${significant(value / length)} ${unit}`;
}

/** `12 %`; below 10 % with one decimal: `2.4 %`, `< 0.1 %`. */
export function percent(share: Figure): string {
  if (!isKnown(share)) return UNKNOWN;
  const value = share * 100;
  if (value !== 0 && Math.abs(value) < 0.1) return "< 0.1 %";
  return `${Math.abs(value) < 9.95 ? significant(Number(fixed(value, 1))) : fixed(value, 0)} %`;
}

/** `1 line`, `3 lines`, `12 000 lines`. */
export function count(number: number, noun: string, plural = `${noun}s`): string {
  const digits = String(number);
  const text = Math.abs(number) >= 10_000 ? digits.replace(/\B(?=(\d{3})+$)/g, " ") : digits;
  return `${text} ${number === 1 ? noun : plural}`;
}

/** `4`, `4 and 5`, `4, 5, 6 and 9 more`. */
export function listed(items: readonly (string | number)[], most = 4): string {
  const shown = items.slice(0, most).map(String);
  const rest = items.length - shown.length;
  if (rest > 0) return `${shown.join(", ")} and ${rest} more`;
  const last = shown.pop();
  return shown.length ? `${shown.join(", ")} and ${last}` : (last ?? "");
}

/** `line 4`, `lines 4 and 5`. */
export function lineNames(lines: readonly number[], most = 4): string {
  return `line${lines.length === 1 ? "" : "s"} ${listed(lines, most)}`;
}
