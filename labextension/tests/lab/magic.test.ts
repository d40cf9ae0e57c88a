import { expect, test } from "vitest";
import { under } from "../../src/lab/magic";

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
