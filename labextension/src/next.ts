/** The next questions about a report, as buttons in its header, as long as a kernel can answer them. */

import { element } from "./dom";
import type { Host } from "./host";
import type { NextStepJson } from "./schema/report";

export interface NextSteps {
  element: HTMLElement;
  dispose(): void;
}

/** An empty element where the host or its kernel offers nothing. */
export function nextSteps(host: Host, report: string): NextSteps {
  const root = element("span", "jxs-next");
  let asked = 0;
  const show = (steps: readonly NextStepJson[]) => {
    root.replaceChildren(...steps.map((step) => stepButton(step, () => host.take?.(report, step))));
  };
  const ask = async () => {
    const now = ++asked;
    // A kernel that cannot answer cannot run the code either.
    const found = await host.nextSteps?.(report).catch(() => []);
    if (now === asked) show(found ?? []);
  };
  const lose = () => {
    asked++;
    show([]);
  };
  const ends = report ? [host.onReturn?.(() => void ask()), host.onLoss?.(lose)] : [];
  if (report) void ask();
  const dispose = () => {
    lose();
    for (const end of ends) end?.();
  };
  return { element: root, dispose };
}

function stepButton({ label, title }: NextStepJson, pressed: () => void): HTMLElement {
  const node = element("button", "jxs-icon", label);
  node.title = title;
  node.addEventListener("click", pressed);
  return node;
}
