import { expect, test, vi } from "vitest";
import { CompileList } from "../../src/lab/compilelist";
import { groups, Numbers, Storms } from "../../src/lab/compiles";
import { Fixes } from "../../src/lab/fixes";
import type { NextStepJson } from "../../src/schema/report";
import { event } from "./events";

const ALL: NextStepJson = { label: "Try the fixes", title: "", code: "%jaxtry --of 3" };
const ONE: NextStepJson = {
  label: "Try it",
  title: "",
  code: "%jaxtry --of 3 1",
  serials: [4, 5],
};

const settled = () => new Promise((resolve) => setTimeout(resolve));

test("a cell is asked about once, and again after more recompilations or a trial", async () => {
  const ask = vi.fn(async () => [ALL, ONE]);
  const changed = vi.fn();
  const fixes = new Fixes(ask, changed);
  fixes.update(new Map([[3, 1]]));
  fixes.update(new Map([[3, 1]]));
  expect(ask).toHaveBeenCalledTimes(1);
  await settled();
  expect(changed).toHaveBeenCalledTimes(1);
  expect(fixes.beside(5)).toBe(ONE);
  expect(fixes.beside(6)).toBeUndefined();
  expect(fixes.below(3)).toBe(ALL);
  expect(fixes.below(4)).toBeUndefined();
  expect(fixes.below(null)).toBeUndefined();
  fixes.update(new Map([[3, 2]]));
  fixes.again();
  fixes.update(new Map([[3, 2]]));
  expect(ask).toHaveBeenCalledTimes(3);
});

test("a kernel that is lost, has no comms or never answers offers nothing", async () => {
  const changed = vi.fn();
  const refuses = new Fixes(() => Promise.reject(new Error("lost")), changed);
  const silent = new Fixes(() => new Promise(() => undefined), changed);
  const none = new Fixes(async () => [], changed);
  for (const fixes of [refuses, silent, none]) {
    fixes.update(new Map([[3, 1]]));
    await settled();
    expect(fixes.beside(4)).toBeUndefined();
    expect(fixes.below(3)).toBeUndefined();
  }
  expect(changed).not.toHaveBeenCalled();
});

test("the button is beside the function, with what its fix brought", async () => {
  const steps = [ALL, { ...ONE, outcome: "Same: no gain", gain: false }];
  const fixes = new Fixes(
    async () => steps,
    () => undefined,
  );
  fixes.update(new Map([[3, 1]]));
  await settled();
  const taken = vi.fn();
  const list = new CompileList(() => undefined, taken);
  const events = [event(4), event(5, { recompile: true, avoidable: true })];
  list.show(groups([...events, event(6, { fun_name: "other" })], new Storms()), fixes);
  const buttons = [...list.element.querySelectorAll<HTMLElement>(".jxs-trial button")];
  expect(buttons.map((node) => node.getAttribute("aria-label"))).toEqual(["Try it: step"]);
  expect(list.element.querySelector(".jxs-idle .jxs-outcome")?.textContent).toBe("Same: no gain");
  buttons[0]?.click();
  expect(taken).toHaveBeenCalledWith(steps[1], expect.objectContaining({ fun_name: "step" }));
});

test("the serials of a step are those of the feed, which go on after a reload", () => {
  const numbers = new Numbers();
  expect(numbers.step(ONE).serials).toEqual([4, 5]);
  expect(numbers.step(ALL)).toBe(ALL);
});
