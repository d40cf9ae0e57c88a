/** Export of a text to the clipboard or a file. */

import type { Language } from "./tokens";

const ENDINGS: Readonly<Record<Language, string>> = {
  python: ".py",
  jaxpr: ".jaxpr",
  mlir: ".mlir",
  hlo: ".hlo",
  llvm: ".ll",
  asm: ".s",
  kernel: ".txt",
};

/** Copies the text; returns whether that worked. */
export async function copyText(text: string, near: HTMLElement): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copyBySelection(text, near);
  }
}

/** For pages without access to the clipboard API, such as those over plain HTTP. */
function copyBySelection(text: string, near: HTMLElement): boolean {
  const area = document.createElement("textarea");
  area.value = text;
  area.className = "jxs-away";
  near.append(area);
  area.select();
  const copied = document.execCommand("copy");
  area.remove();
  return copied;
}

export function fileName(label: string, language: Language): string {
  const stem = label
    .replace(/\.py$/, "")
    .replace(/[^\p{L}\p{N}.-]+/gu, "_")
    .replace(/^[_.]+|[_.]+$/g, "");
  return (stem || "text") + ENDINGS[language];
}

export function download(text: string, name: string): void {
  const url = URL.createObjectURL(new Blob([text], { type: "text/plain;charset=utf-8" }));
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  // The browser reads the blob after the click.
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
