import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { tooLarge } from "../checks/sizes.mjs";
import { offences, offencesIn } from "../checks/sources.mjs";

test("no source makes markup or code of text", () => {
  expect(offencesIn(join(__dirname, "../src"))).toEqual([]);
});

test.each([
  "element.innerHTML = text;",
  "element.outerHTML = text;",
  'element.insertAdjacentHTML("beforeend", text);',
  "document.write(text);",
  "document . writeln(text);",
  "eval(text);",
  "new Function(text)();",
  'setTimeout("go()", 1);',
  "frame.srcdoc = text;",
])("the check refuses %s", (line) => {
  expect(offences("view.ts", `const text = "";\n${line}\n`)).toHaveLength(1);
  expect(offences("view.ts", `const text = "";\n${line}\n`)[0]).toMatch(/^view\.ts:2 uses `/);
});

test.each(["element.textContent = text;", "retrieval(text);", "setTimeout(go, 1);"])(
  "the check lets %s pass",
  (line) => expect(offences("view.ts", line)).toEqual([]),
);

test("a file above the limit is named with its size", () => {
  const folder = mkdtempSync(join(tmpdir(), "jaxscope-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = join(folder, "large.js");
  writeFileSync(file, randomBytes(3000));
  expect(tooLarge([file], 4000)).toEqual([]);
  expect(tooLarge([file], 2000)[0]).toMatch(/large\.js is 30\d\d bytes gzipped, more than 2000\.$/);
});
