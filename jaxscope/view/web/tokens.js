// Tiny lexical colouring of one line, and the spelling out of what cannot be seen.

const HIDDEN = new RegExp(
  "[\\x00-\\x08\\x0a-\\x1f\\x7f-\\x9f\\u00ad\\u061c\\u180e\\u200b-\\u200f\\u2028-\\u202e" +
    "\\u2060-\\u206f\\ufeff\\ufff9-\\ufffb\\u{e0000}-\\u{e007f}]|\\p{Surrogate}",
  "gu",
);

/** Hidden characters as `\x1b`, `\u202e`; tabs as spaces. */
function visible(line) {
  if (/^[\x20-\x7e]*$/.test(line)) return line;
  return line.replace(/\t/g, "    ").replace(HIDDEN, (character) => {
    const code = character.codePointAt(0);
    const digits = code <= 0xff ? 2 : code <= 0xffff ? 4 : 8;
    return "\\" + { 2: "x", 4: "u", 8: "U" }[digits] + code.toString(16).padStart(digits, "0");
  });
}

// One alternative for each class; the name of the group is the class.
const PYTHON =
  /(?<c>#.*$)|(?<s>[rbfu]{0,2}(?:"(?:[^"\\]|\\.)*"?|'(?:[^'\\]|\\.)*'?))|(?<m>^\s*%%?\w+|^\s*@[\w.]+)|(?<k>\b(?:and|as|assert|async|await|break|class|continue|def|del|elif|else|except|False|finally|for|from|global|if|import|in|is|lambda|None|nonlocal|not|or|pass|raise|return|True|try|while|with|yield)\b)|(?<n>\b\d[\w.]*)/g;
const IR =
  /(?<c>\/\/.*$)|(?<s>"(?:[^"\\]|\\.)*"?)|(?<y>\b(?:[fsuc]\d+|bf16|pred|i\d+|ui\d+|bool|key<[^>]*>)\[[^\]]*\](?:\{[^}]*\})?|(?:tensor|memref|vector)<[^>]*>)|(?<k>\b(?:ENTRY|ROOT|HloModule|module|func\.func|return|lambda|let|in|private|public)\b)|(?<m>[%@#][\w.\-]+)|(?<o>(?<=[^=<>]= )[a-z][\w.\-]*(?=[\[ (])|(?<=[\]})] )[a-z][\w\-]*(?=\()|\bstablehlo\.\w+)|(?<n>(?<![\w.%])-?\d[\d.e+\-]*\b)/g;

/** [text, class] pairs that cover the line. */
function tokens(line, language) {
  const pattern = language === "python" ? PYTHON : IR;
  const found = [];
  let end = 0;
  pattern.lastIndex = 0;
  for (const match of line.matchAll(pattern)) {
    if (match[0] === "") continue;
    if (match.index > end) found.push([line.slice(end, match.index), ""]);
    const name = Object.keys(match.groups).find((key) => match.groups[key] !== undefined);
    found.push([match[0], name]);
    end = match.index + match[0].length;
  }
  if (end < line.length) found.push([line.slice(end), ""]);
  return found;
}

/** Tokens cut at the ends of ranges, each part with the classes of both. */
function segments(parts, ranges) {
  if (!ranges.length) return parts;
  const out = [];
  let at = 0;
  for (const [text, css] of parts) {
    const end = at + text.length;
    const cuts = new Set([at, end]);
    for (const [from, to] of ranges) for (const cut of [from, to]) if (cut > at && cut < end) cuts.add(cut);
    const places = [...cuts].sort((a, b) => a - b);
    for (let i = 0; i + 1 < places.length; i++) {
      const inside = ranges.filter(([from, to]) => from <= places[i] && places[i + 1] <= to);
      const classes = [css, ...inside.map((range) => range[2])].filter(Boolean).join(" ");
      out.push([text.slice(places[i] - at, places[i + 1] - at), classes]);
    }
    at = end;
  }
  return out;
}

/** A number in 3 digits with an SI prefix, as `units.short` writes it. */
function short(value) {
  let index = 0;
  while (index < 6 && Math.abs(Number(value.toPrecision(3))) >= 1000) {
    value /= 1000;
    index++;
  }
  const text = value === 0 ? "0" : String(Number(value.toPrecision(3)));
  return index ? `${text} ${" kMGTPE"[index]}` : text;
}

function share(part) {
  if (part > 0 && part < 0.001) return "< 0.1 %";
  const value = part * 100;
  return `${value < 9.95 ? Number(value.toFixed(1)) : value.toFixed(0)} %`;
}

/** "1 line", "3 lines". */
function count(number, noun) {
  const text = number >= 10000 ? String(number).replace(/\B(?=(\d{3})+$)/g, "\u202f") : String(number);
  return `${text} ${noun}${number === 1 ? "" : "s"}`;
}
