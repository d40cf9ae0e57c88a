/** The next questions about a report, as buttons in its header, as long as a kernel can answer them. */

import { element } from "./dom";
import type { Host } from "./host";
import type { NextStepJson } from "./schema/report";

export interface NextSteps {
  element: HTMLElement;
  dispose(): void;
}

/**
 * An empty element where the host or its kernel offers nothing. A step about a finding is shown
 * beside it, in the element that `besideFinding` gives for its number.
 */
export function nextSteps(
  host: Host,
  report: string,
  besideFinding: (finding: number) => Element | null = () => null,
): NextSteps {
  const root = element("span", "jxs-next");
  let asked = 0;
  let beside: HTMLElement[] = [];
  const show = (steps: readonly NextStepJson[]) => {
    const made = (step: NextStepJson) => stepButton(step, () => host.take?.(report, step));
    root.replaceChildren(...steps.filter((step) => step.finding === undefined).map(made));
    for (const node of beside) node.remove();
    beside = [];
    for (const step of steps) {
      const place = step.finding === undefined ? null : besideFinding(step.finding);
      if (!place) continue;
      const node = made(step);
      node.setAttribute("aria-label", `${step.label}: finding ${step.finding}`);
      beside.push(node);
      place.append(" ", node);
    }
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
