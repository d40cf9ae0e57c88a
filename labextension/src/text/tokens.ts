/** Tokens of single lines, so that 100 000 lines cost nothing until they are visible. */

export type Language = "python" | "jaxpr" | "mlir" | "hlo" | "llvm" | "asm" | "kernel";

/** k keyword, s string, c comment, m name, y type, n number, o opcode, a attribute; "" plain. */
export type TokenClass = "k" | "s" | "c" | "m" | "y" | "n" | "o" | "a" | "";
export type Token = readonly [text: string, css: TokenClass];
/** UTF-16 columns in a line, and their class. */
export type Mark = readonly [from: number, to: number, css: TokenClass];

type Rule = readonly [css: TokenClass, pattern: RegExp];

const STRING: Rule = ["s", /"(?:[^"\\]|\\.)*"?/];
const NUMBER: Rule = ["n", /(?<![\w.%@#$])-?(?:0x[\da-fA-F]+|\d[\d.]*(?:e[+-]?\d+)?)(?![\w.])/];

const PYTHON: readonly Rule[] = [
  ["c", /#.*$/],
  [
    "s",
    /(?:\b[rRbBfFuU]{1,2})?(?:"""(?:[^\\]|\\.)*?(?:"""|\\?$)|'''(?:[^\\]|\\.)*?(?:'''|\\?$)|"(?:[^"\\]|\\.)*"?|'(?:[^'\\]|\\.)*'?)/,
  ],
  ["m", /^\s*%%?\w+|^\s*@[\w.]+/],
  [
    "k",
    /\b(?:and|as|assert|async|await|break|case|class|continue|def|del|elif|else|except|False|finally|for|from|global|if|import|in|is|lambda|match(?=\s+[\w([{"'].*:\s*$)|None|nonlocal|not|or|pass|raise|return|True|try|while|with|yield)\b/,
  ],
  ["o", /(?<=\b(?:def|class)\s+)\w+/],
  [
    "n",
    /(?<![\w.])(?:0[xXbBoO][\da-fA-F_]+|\d[\d_]*\.?[\d_]*(?:[eE][+-]?\d+)?j?|\.\d[\d_]*(?:[eE][+-]?\d+)?j?)/,
  ],
];

const JAXPR: readonly Rule[] = [
  STRING,
  [
    "y",
    /\b(?:[fsuic]\d+(?:_\w+)?|bf16|float\d\w*|bool|int\d+|key<[^>]*>|token|Ref(?:<[^>]*>)?\{?)\[[^\]]*\](?:\{[^}]*\})?/,
  ],
  ["k", /\b(?:lambda|let|in)\b/],
  // Parameters of an equation.
  ["a", /(?<=[[\s])[A-Za-z_]\w*(?==)/],
  ["o", /(?<= = )[a-z_][\w-]*|(?<=^\s*)[a-z_][\w-]*(?=\[[^\]]*(?:$|\] ))/],
  ["m", /(?<![\w.])[a-zA-Z_]+'*(?=:[a-z])/],
  ["k", /\b(?:True|False|None)\b/],
  ["n", /(?<![\w.])-?(?:\d[\d.]*(?:e[+-]?\d+)?|inf|nan)(?![\w.])/],
];

const MLIR: readonly Rule[] = [
  ["c", /\/\/.*$/],
  [
    "c",
    /\bloc\((?:[^()"]|"(?:[^"\\]|\\.)*"|\((?:[^()"]|"(?:[^"\\]|\\.)*"|\([^()]*\))*\))*\)|^#loc\w*/,
  ],
  ["o", /"[a-z_]\w*\.[\w.]+"(?=\()/],
  STRING,
  [
    "y",
    /\b(?:tensor|memref|vector|complex|tuple)<(?:[^<>]|<[^<>]*>)*>|![\w.]+(?:<[^>]*>)?|(?<=[:(,>\s])(?:[iu]\d+|ui\d+|si\d+|f\d+\w*|bf16|index)\b(?!\s*=)/,
  ],
  [
    "k",
    /\b(?:module|func\.func|return|func\.return|stablehlo\.return|call|func\.call|private|public|attributes|applies|across|dimensions|dims|sizes|reducer|init|cond|do|true|false|dense|array|unit)\b/,
  ],
  ["m", /%[\w.$-]+(?:[:#]\d+)?|@(?:[\w.$-]+|"[^"]*")|#[\w.]+|\^\w+/],
  ["o", /\b[a-z_]\w*\.[a-z_][\w.]*/],
  ["a", /\b[A-Za-z_][\w.]*(?=\s*=)/],
  NUMBER,
];

const HLO: readonly Rule[] = [
  ["c", /\/\/.*$|\/\*.*?\*\//],
  STRING,
  ["y", /\b(?:[fsuc]\d+(?:e\d+m\d+\w*)?|bf16|pred|token|opaque)\[[^\]]*\](?:\{[^}]*\})?/],
  ["k", /\b(?:ENTRY|ROOT|HloModule|true|false)\b/],
  // The opcode is between the shape and the operands.
  ["o", /(?<=[\]})] )[a-z][\w-]*(?=\()/],
  ["m", /%[\w.-]+/],
  ["a", /\b[a-z_]\w*(?==)/],
  ["m", /(?<=^\s*(?:ROOT )?)[A-Za-z_][\w.-]*(?= = )|^[A-Za-z_][\w.-]*(?= [({])/],
  NUMBER,
];

const LLVM: readonly Rule[] = [
  ["c", /;.*$/],
  STRING,
  ["y", /\b(?:i\d+|float|double|half|bfloat|ptr|void|label|metadata)\b|<\d+ x \w+>|\[\d+ x \w+\]/],
  ["m", /[%@][\w.$-]+|[%@]"[^"]*"|![\w.]+|#\d+/],
  [
    "k",
    /\b(?:define|declare|internal|type|to|align|inbounds|nuw|nsw|nneg|noalias|readonly|tail|true|false|poison|undef|zeroinitializer|null|fast|contract|reassoc)\b/,
  ],
  ["o", /(?<= = (?:tail )?)[a-z]\w*|(?<=^ +)(?:ret|br|store|call|switch|unreachable)\b/],
  ["m", /^[\w.$-]+(?=:)/],
  NUMBER,
];

const ASM: readonly Rule[] = [
  ["c", /;.*$/],
  ["m", /^[^\s:]+(?=:$)/],
  ["c", /^ *[\da-f]+(?= {2})/],
  ["o", /(?<=^ *[\da-f]+ {2})[a-z][\w.]*/],
  ["y", /\b(?:byte|[a-z]*word) ptr\b/],
  [
    "a",
    /\b(?:[xyz]mm\d+|k[0-7]|[re]?(?:[abcd]x|[sd]i|[sbi]p)|[abcd][lh]|r\d+[dwb]?|[wxvqdsz]\d+(?:\.\w+)?|sp|lr|xzr|wzr)\b/,
  ],
  NUMBER,
];

/** PTX, SASS and LLO. */
const KERNEL: readonly Rule[] = [
  ["c", /^;.*$|\/\/.*$|\/\*.*?\*\//],
  ["m", /^[^\s:]+(?=:$)/],
  ["a", /%[\w.$]+|\b(?:U?R\d+|RZ|URZ|U?P[0-7T]|SR_\w+)\b/],
  [
    "o",
    /(?<=(?:^|;;|\{)\s+(?:%\w+ = )?)[a-z][\w.]*|(?<=\*\/\s+(?:@!?U?P\d\s+)?)[A-Z][\w.]*|(?<= = )[a-z][\w.]*/,
  ],
  ["y", /(?<!\w)\.[a-z]\w*/],
  NUMBER,
];

interface Grammar {
  readonly pattern: RegExp;
  readonly classes: readonly TokenClass[];
}

/** One pattern with a group for each rule; the first rule that matches wins. */
function grammar(rules: readonly Rule[]): Grammar {
  const source = rules.map(([, pattern]) => `(${pattern.source})`).join("|");
  return { pattern: new RegExp(source, "g"), classes: rules.map(([css]) => css) };
}

const GRAMMARS: Readonly<Record<Language, Grammar>> = {
  python: grammar(PYTHON),
  jaxpr: grammar(JAXPR),
  mlir: grammar(MLIR),
  hlo: grammar(HLO),
  llvm: grammar(LLVM),
  asm: grammar(ASM),
  kernel: grammar(KERNEL),
};

/** The colored parts of a line, in order; the rest is plain. */
export function marks(line: string, language: Language, start = 0): Mark[] {
  const { pattern, classes } = GRAMMARS[language];
  const found: Mark[] = [];
  for (pattern.lastIndex = start; ; ) {
    const match = pattern.exec(line);
    if (!match) return found;
    const end = match.index + match[0].length;
    if (end === match.index) {
      pattern.lastIndex++;
      continue;
    }
    const group = classes.findIndex((_, index) => match[index + 1] !== undefined);
    found.push([match.index, end, classes[group] ?? ""]);
  }
}

/** The whole line as tokens: their texts joined are the line. */
export function tokens(line: string, language: Language): Token[] {
  const pieces: Token[] = [];
  let at = 0;
  for (const [from, to, css] of marks(line, language)) {
    if (from > at) pieces.push([line.slice(at, from), ""]);
    pieces.push([line.slice(from, to), css]);
    at = to;
  }
  if (at < line.length) pieces.push([line.slice(at), ""]);
  return pieces;
}
