import { expect, test, vi } from "vitest";
import { type Host, TextAbsent } from "../src/host";
import { nextSteps } from "../src/next";

const STEP = { label: "Profile", title: "Runs %jaxprof f(x)", code: "%jaxprof f(x)" };

function labels(element: Element): (string | null)[] {
  return [...element.querySelectorAll("button")].map((node) => node.textContent);
}

const settled = () => new Promise((resolve) => setTimeout(resolve));

test("steps are offered while a kernel answers, and taken by a click", async () => {
  const heard: Record<string, () => void> = {};
  let steps = [STEP];
  const host: Host = {
    name: "lab",
    nextSteps: async () => steps,
    take: vi.fn(),
    onReturn: (callback) => {
      heard.returned = callback;
      return () => undefined;
    },
    onLoss: (callback) => {
      heard.lost = callback;
      return () => undefined;
    },
  };
  const { element } = nextSteps(host, "id");
  await settled();
  expect(labels(element)).toEqual(["Profile"]);
  element.querySelector("button")?.click();
  expect(host.take).toHaveBeenCalledWith("id", STEP);
  heard.lost?.();
  expect(labels(element)).toEqual([]);
  steps = [STEP, { ...STEP, label: "Diff with last run" }];
  heard.returned?.();
  await settled();
  expect(labels(element)).toEqual(["Profile", "Diff with last run"]);
});

test("the step of a finding is beside it, and goes with the kernel", async () => {
  const about = { ...STEP, label: "Try it", finding: 2 };
  let lost: (() => void) | undefined;
  const host: Host = {
    name: "lab",
    nextSteps: async () => [STEP, about, { ...about, finding: 7 }],
    take: vi.fn(),
    onLoss: (callback) => {
      lost = callback;
      return () => undefined;
    },
  };
  const items = [document.createElement("li"), document.createElement("li")];
  const { element } = nextSteps(host, "id", (finding) => items[finding - 1] ?? null);
  await settled();
  expect(labels(element)).toEqual(["Profile"]);
  expect(items.map(labels)).toEqual([[], ["Try it"]]);
  items[1]?.querySelector("button")?.click();
  expect(host.take).toHaveBeenCalledWith("id", about);
  lost?.();
  expect(items.map(labels)).toEqual([[], []]);
});

test("a fix that was tried says what it brought, and fades where that is nothing", async () => {
  const about = { ...STEP, label: "Try it", finding: 1, outcome: "Same: no gain", gain: false };
  let steps = [about];
  const heard: Record<string, () => void> = {};
  const host: Host = {
    name: "lab",
    nextSteps: async () => steps,
    take: vi.fn(),
    onReturn: (callback) => {
      heard.returned = callback;
      return () => undefined;
    },
    onLoss: (callback) => {
      heard.lost = callback;
      return () => undefined;
    },
  };
  const item = document.createElement("li");
  nextSteps(host, "id", () => item);
  await settled();
  expect(item.textContent).toBe("Try itSame: no gain");
  expect(item.className).toBe("jxs-idle");
  steps = [{ ...about, outcome: "Better: 2.00× faster", gain: true }];
  heard.returned?.();
  await settled();
  expect(item.textContent).toBe("Try itBetter: 2.00× faster");
  expect(item.className).toBe("");
  heard.lost?.();
  expect(item.textContent).toBe("");
});

test("nothing is offered without a kernel, by a page, or for a report without an id", async () => {
  const refuses = { nextSteps: () => Promise.reject(new TextAbsent("no-kernel")) };
  const asked = vi.fn();
  const hosts: [Host, string][] = [
    [{ name: "lab", ...refuses }, "id"],
    [{ name: "page" }, "id"],
    [{ name: "lab", nextSteps: asked }, ""],
  ];
  for (const [host, id] of hosts) {
    const { element } = nextSteps(host, id);
    await settled();
    expect(labels(element)).toEqual([]);
  }
  expect(asked).not.toHaveBeenCalled();
});
