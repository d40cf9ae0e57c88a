/** HLO text as a graph: instructions, their operands, and the computations that they call. */

export interface Instruction {
  readonly index: number;
  /** From 1, as in the text panes. */
  readonly line: number;
  readonly name: string;
  readonly opcode: string;
  /** With layouts, as written. */
  readonly shape: string;
  readonly computation: number;
  readonly root: boolean;
  /** The number of a parameter; -1 for any other instruction. */
  readonly parameter: number;
  /** Indices of instructions of the same computation, in order. */
  operands: readonly number[];
  /** Indices of computations. */
  called: readonly number[];
}

export interface Computation {
  readonly index: number;
  readonly name: string;
  readonly entry: boolean;
  /** The line of its head; `last` is that of its closing brace. */
  readonly line: number;
  last: number;
  /** Its instructions are `first` to `end`, exclusive. */
  readonly first: number;
  end: number;
  /** Index of the root instruction; -1 where there is none. */
  root: number;
}

const HEAD = /^(ENTRY\s+)?%?([^\s%(){}=,]+)\s*(?:\(.*)?\{\s*$/;
const CALLS = /(?:calls|to_apply|body|condition|computations?)=/;
const CALLING = new Set(
  (
    "calls to_apply body condition true_computation false_computation branch_computations " +
    "called_computations select scatter"
  ).split(" "),
);

export class Module {
  readonly instructions: Instruction[] = [];
  readonly computations: Computation[] = [];
  private readonly lines = new Map<number, number>();
  private userLists: number[][] | null = null;
  private callerLists: number[][] | null = null;

  constructor(text: string) {
    this.read(text);
  }

  /** The instruction on a line of the text. */
  atLine(line: number): Instruction | undefined {
    const index = this.lines.get(line);
    return index === undefined ? undefined : this.instructions[index];
  }

  /** The entry computation, or the last one of a text that names none. */
  get entry(): Computation | undefined {
    return this.computations.find((each) => each.entry) ?? this.computations.at(-1);
  }

  /** The users of an instruction, in the order of the text. */
  users(index: number): readonly number[] {
    if (!this.userLists) {
      this.userLists = this.instructions.map(() => []);
      for (const { index, operands } of this.instructions) {
        for (const operand of new Set(operands)) this.userLists[operand]?.push(index);
      }
    }
    return this.userLists[index] ?? [];
  }

  /** Instructions that call a computation. */
  callers(computation: number): readonly number[] {
    if (!this.callerLists) {
      this.callerLists = this.computations.map(() => []);
      for (const { index, called } of this.instructions) {
        for (const each of new Set(called)) this.callerLists[each]?.push(index);
      }
    }
    return this.callerLists[computation] ?? [];
  }

  /** Whether a computation belongs to a fusion. */
  isFused(computation: number): boolean {
    return this.callers(computation).some((each) => this.instructions[each]?.opcode === "fusion");
  }

  private read(text: string): void {
    const byName = new Map<string, number>();
    const calls: [Instruction, string[]][] = [];
    let operands: [Instruction, string[]][] = [];
    let local = new Map<string, number>();
    let open: Computation | null = null;
    const close = (line: number) => {
      if (!open) return;
      open.last = line;
      open.end = this.instructions.length;
      for (const [instruction, names] of operands) {
        instruction.operands = found(names, local);
      }
      // Without a ROOT the last instruction is the root.
      if (open.root < 0) open.root = open.end > open.first ? open.end - 1 : -1;
      operands = [];
      open = null;
    };

    let number = 0;
    for (let start = 0; start < text.length; ) {
      let end = text.indexOf("\n", start);
      if (end < 0) end = text.length;
      const line = text.slice(start, end);
      start = end + 1;
      number++;
      const first = line.charCodeAt(0);
      if (first === 125 /* } */) {
        close(number);
      } else if (first !== 32 && first !== 9) {
        const head: RegExpExecArray | null = line.includes("{") ? HEAD.exec(line) : null;
        if (!head?.[2] || line.startsWith("HloModule")) continue;
        close(number - 1);
        open = {
          index: this.computations.length,
          name: head[2],
          entry: head[1] !== undefined,
          line: number,
          last: number,
          first: this.instructions.length,
          end: this.instructions.length,
          root: -1,
        };
        byName.set(open.name, open.index);
        this.computations.push(open);
        local = new Map();
      } else if (open) {
        const written = parts(line);
        if (!written) continue;
        const index = this.instructions.length;
        const literal = written.opcode === "parameter" || written.opcode === "constant";
        const instruction: Instruction = {
          index,
          line: number,
          name: written.name,
          opcode: written.opcode,
          shape: written.shape,
          computation: open.index,
          root: written.root,
          parameter: written.opcode === "parameter" ? Number.parseInt(written.inside, 10) : -1,
          operands: [],
          called: [],
        };
        if (!literal) operands.push([instruction, operandNames(written.inside)]);
        if (CALLS.test(written.rest)) calls.push([instruction, calledNames(written.rest)]);
        if (written.root) open.root = index;
        local.set(written.name, index);
        this.lines.set(number, index);
        this.instructions.push(instruction);
      }
    }
    close(number);
    for (const [instruction, names] of calls) instruction.called = found(names, byName);
  }
}

function found(names: readonly string[], known: ReadonlyMap<string, number>): number[] {
  return names.map((name) => known.get(name)).filter((index) => index !== undefined);
}

interface Parts {
  root: boolean;
  name: string;
  shape: string;
  opcode: string;
  /** The text in the parentheses of the opcode. */
  inside: string;
  /** The attributes. */
  rest: string;
}

/** `  ROOT %name = shape opcode(inside), rest`. Null for any other line. */
function parts(line: string): Parts | null {
  const equals = line.indexOf(" = ");
  if (equals < 0) return null;
  let name = line.slice(0, equals).trim();
  const root = name.startsWith("ROOT ");
  if (root) name = name.slice(5).trim();
  if (name.startsWith("%")) name = name.slice(1);
  const start = equals + 3;
  const shapeEnd = line.charAt(start) === "(" ? closing(line, start) + 1 : line.indexOf(" ", start);
  if (shapeEnd <= start || !name) return null;
  const shape = line.slice(start, shapeEnd);
  const paren = line.indexOf("(", shapeEnd);
  if (paren < 0) return null;
  const opcode = line.slice(shapeEnd, paren).trim();
  if (!/^[a-z][\w-]*$/i.test(opcode)) return null;
  const end = closing(line, paren);
  if (end < 0) return null;
  return {
    root,
    name,
    shape,
    opcode,
    inside: line.slice(paren + 1, end),
    rest: line.slice(end + 1),
  };
}

/** The index of the bracket that closes the one at `start`, outside of strings; -1 where there is none. */
function closing(text: string, start: number): number {
  let depth = 0;
  for (let i = start; i < text.length; i++) {
    const char = text.charCodeAt(i);
    if (char === 34 /* " */) {
      i = stringEnd(text, i);
    } else if (char === 40 || char === 123 || char === 91 /* ( { [ */) {
      depth++;
    } else if (char === 41 || char === 125 || char === 93 /* ) } ] */) {
      if (--depth === 0) return i;
    }
  }
  return -1;
}

function stringEnd(text: string, start: number): number {
  let i = start + 1;
  while (i < text.length && text.charCodeAt(i) !== 34) i += text.charCodeAt(i) === 92 ? 2 : 1;
  return i;
}

/** Splits at the commas outside of brackets and strings. */
function pieces(text: string): string[] {
  const out: string[] = [];
  let depth = 0;
  let start = 0;
  for (let i = 0; i < text.length; i++) {
    const char = text.charCodeAt(i);
    if (char === 34) i = stringEnd(text, i);
    else if (char === 40 || char === 123 || char === 91) depth++;
    else if (char === 41 || char === 125 || char === 93) depth--;
    else if (char === 44 && depth === 0) {
      out.push(text.slice(start, i));
      start = i + 1;
    }
  }
  out.push(text.slice(start));
  return out;
}

/** `f32[8]{0} %a, %b` → a, b; without comments that count operands. */
function operandNames(inside: string): string[] {
  if (!inside) return [];
  const plain = inside.includes("/*") ? inside.replace(/\/\*.*?\*\//g, "") : inside;
  const each = /[([{"]/.test(plain) ? pieces(plain) : plain.split(",");
  return each.map((piece) => bare(piece.trim().split(/\s+/).at(-1) ?? ""));
}

function calledNames(rest: string): string[] {
  return pieces(rest).flatMap((piece) => {
    const equals = piece.indexOf("=");
    if (equals < 0 || !CALLING.has(piece.slice(0, equals).trim())) return [];
    const value = piece.slice(equals + 1).trim();
    const names = value.startsWith("{") ? value.slice(1, -1).split(",") : [value];
    return names.map((name) => bare(name.trim()));
  });
}

function bare(name: string): string {
  return name.startsWith("%") ? name.slice(1) : name;
}
