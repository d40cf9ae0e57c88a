/** Refuses what turns a string into markup or code: every text that the viewer shows may hold a script. */

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const FORBIDDEN = [
  /\b(?:innerHTML|outerHTML|insertAdjacentHTML|createContextualFragment|setHTMLUnsafe|srcdoc)\b/,
  /\bdocument\s*\.\s*write(?:ln)?\b/,
  /\beval\s*\(/,
  /\bnew\s+Function\b/,
  /\bset(?:Timeout|Interval)\s*\(\s*["'`]/,
];

/** One sentence for each line that uses such a name, comments included: a comment may say it in words. */
export function offences(name, text) {
  return text.split("\n").flatMap((line, index) => {
    const found = FORBIDDEN.map((pattern) => pattern.exec(line)?.[0]).find(Boolean);
    return found
      ? [`${name}:${index + 1} uses \`${found}\`, which makes markup or code of text.`]
      : [];
  });
}

export function offencesIn(folder) {
  return readdirSync(folder, { recursive: true })
    .filter((name) => /\.(?:ts|js|mjs)$/.test(name))
    .flatMap((name) => offences(name, readFileSync(join(folder, name), "utf8")));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const found = offencesIn(fileURLToPath(new URL("../src", import.meta.url)));
  for (const sentence of found) console.error(sentence);
  process.exitCode = found.length ? 1 : 0;
}
