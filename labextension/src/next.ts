/** The next questions about a report, as buttons in its header, as long as a kernel can answer them. */

import { element, quoted } from "./dom";
import type { Host } from "./host";
import type { NextStepJson } from "./schema/report";

export interface NextSteps {
  element: HTMLElement;
  dispose(): void;
}

/**
 * An empty element where the host or its kernel offers nothing. A step about a finding is shown
 * after the message, in the element that `besideFinding` gives for its number.
 */
export function nextSteps(
  host: Host,
  report: string,
  besideFinding: (finding: number) => Element | null = () => null,
): NextSteps {
  const root = element("span", "jxs-next");
  let asked = 0;
  let beside: (() => void)[] = [];
  const show = (steps: readonly NextStepJson[]) => {
    const made = (step: NextStepJson) => stepButton(step, () => host.take?.(report, step));
    root.replaceChildren(...steps.filter((step) => step.finding === undefined).map(made));
    for (const clear of beside) clear();
    beside = [];
    for (const step of steps) {
      const place = step.finding === undefined ? null : besideFinding(step.finding);
      if (!place) continue;
      const node = trial(step, () => host.take?.(report, step));
      node.firstElementChild?.setAttribute("aria-label", `${step.label}: finding ${step.finding}`);
      const message = place.querySelector("strong");
      if (message) message.after(node);
      else place.append(node);
      place.classList.toggle("jxs-idle", step.gain === false);
      beside.push(() => {
        node.remove();
        place.classList.remove("jxs-idle");
      });
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

/** The button that tries a fix, and what it brought the last time. */
export function trial(step: NextStepJson, pressed: () => void): HTMLElement {
  const outcome = step.outcome ? [element("span", "jxs-outcome", ...quoted(step.outcome))] : [];
  return element("div", "jxs-trial", stepButton(step, pressed), ...outcome);
}

export function stepButton({ label, title }: NextStepJson, pressed: () => void): HTMLElement {
  const node = element("button", "jxs-icon", label);
  node.title = title;
  node.addEventListener("click", pressed);
  return node;
}
