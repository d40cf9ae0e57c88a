/** The first line of a cell, as far as it is a cell magic. */

/** What to put above a cell, in the order of the palette. */
export const MAGICS = [
  {
    name: "jaxjit",
    options: "",
    runs: false,
    label: "Insert %%jaxjit: Compile and Inspect This Cell",
  },
  {
    name: "jaxgrad",
    options: " -w ",
    runs: false,
    label: "Insert %%jaxgrad: Differentiate This Cell",
  },
  { name: "jaxvmap", options: " -i ", runs: false, label: "Insert %%jaxvmap: Vectorize This Cell" },
  {
    name: "jaxwatch",
    options: "",
    runs: false,
    label: "Insert %%jaxwatch: Say Why This Cell Compiles",
  },
  { name: "jaxbench", options: "", runs: false, label: "Insert %%jaxbench: Benchmark This Cell" },
  { name: "jaxprof", options: "", runs: true, label: "Profile This Cell: Run It Under %%jaxprof" },
] as const;

export type Edited = { text: string } | { refused: string };

/** The cell's text under a magic. Another magic of ours gives way, a stranger's is kept and said. */
export function under(text: string, name: string, options = ""): Edited {
  const [first = "", ...rest] = text.split("\n");
  const found = /^%%(\w+)/.exec(first)?.[1];
  if (found === name) return { text };
  if (found && !found.startsWith("jax"))
    return { refused: `The cell begins with %%${found}, and a cell has room for one cell magic.` };
  const body = found ? rest.join("\n") : text;
  return { text: `%%${name}${options}\n${body}` };
}
