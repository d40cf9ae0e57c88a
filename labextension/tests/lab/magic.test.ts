import { expect, test } from "vitest";
import { exampleOf, under } from "../../src/lab/magic";

test("the magic stands above the cell", () => {
  expect(under("y = x\ny", "jaxjit")).toEqual({ text: "%%jaxjit\ny = x\ny" });
});

test("it is not put twice", () => {
  expect(under("%%jaxjit -n 1\ny", "jaxjit")).toEqual({ text: "%%jaxjit -n 1\ny" });
});

test("another magic of jaxscope gives way", () => {
  expect(under("%%jaxjit -q\ny", "jaxprof")).toEqual({ text: "%%jaxprof\ny" });
});

test("a stranger's magic is kept, and it is said", () => {
  expect(under("%%time\ny", "jaxjit")).toEqual({
    refused: "The cell begins with %%time. A cell can have only one cell magic.",
  });
});

test("a button has the code of its own example", () => {
  document.body.innerHTML =
    '<div><div><p>One <button class="jxs-insert">Insert</button></p><pre>a = 1</pre></div>' +
    '<div><p>Two <button class="jxs-insert">Insert</button></p><pre>b = 2</pre></div></div>';
  const [one, two] = document.querySelectorAll("button");
  expect(exampleOf(one ?? null)).toBe("a = 1");
  expect(exampleOf(two?.firstChild?.parentNode ?? null)).toBe("b = 2");
  expect(exampleOf(document.querySelector("p"))).toBeNull();
  expect(exampleOf(null)).toBeNull();
});
