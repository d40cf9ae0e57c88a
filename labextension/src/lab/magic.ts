/** The cell magic in the first line of a cell. */

/** The magics that can be inserted, in the order of the palette. */
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
    label: "Insert %%jaxwatch: Explain Why This Cell Compiles",
  },
  { name: "jaxbench", options: "", runs: false, label: "Insert %%jaxbench: Benchmark This Cell" },
  { name: "jaxprof", options: "", runs: true, label: "Profile This Cell: Run It Under %%jaxprof" },
] as const;

export type Edited = { text: string } | { refused: string };

/** The cell's text under a magic. Replaces a different magic of jaxscope; refuses for any other one. */
export function under(text: string, name: string, options = ""): Edited {
  const [first = "", ...rest] = text.split("\n");
  const found = /^%%(\w+)/.exec(first)?.[1];
  if (found === name) return { text };
  if (found && !found.startsWith("jax"))
    return { refused: `The cell begins with %%${found}. A cell can have only one cell magic.` };
  const body = found ? rest.join("\n") : text;
  return { text: `%%${name}${options}\n${body}` };
}

/** The code beside a button of the first page; null for any other element. */
export function exampleOf(target: EventTarget | null): string | null {
  const pressed = target instanceof Element ? target.closest(".jxs-insert") : null;
  return pressed?.parentElement?.parentElement?.querySelector("pre")?.textContent ?? null;
}
