/** The splitter between source and stages, moved by mouse or arrow keys. */

import { element } from "../dom";

const LEAST = 18;
const MOST = 75;
const STEP = 2;

export interface Grip {
  readonly element: HTMLElement;
  /** Sets a suitable share, unless the user has chosen one. */
  suggest(share: number): void;
}

/** Sets `--jxs-left` on `around`, in percent. */
export function grip(around: HTMLElement, first: number, moved: () => void): Grip {
  const node = element("div", "jxs-grip");
  node.tabIndex = 0;
  node.setAttribute("role", "separator");
  node.setAttribute("aria-orientation", "vertical");
  node.setAttribute("aria-label", "Width of the source");
  node.setAttribute("aria-valuemin", String(LEAST));
  node.setAttribute("aria-valuemax", String(MOST));
  let share = first;
  let chosen = false;
  const show = (next: number) => {
    share = Math.min(MOST, Math.max(LEAST, next));
    around.style.setProperty("--jxs-left", `${share}%`);
    node.setAttribute("aria-valuenow", String(Math.round(share)));
  };
  const set = (next: number) => {
    chosen = true;
    show(next);
    moved();
  };
  node.setAttribute("aria-valuenow", String(first));
  node.addEventListener("pointerdown", (event) => {
    node.setPointerCapture(event.pointerId);
    event.preventDefault();
    node.focus();
  });
  node.addEventListener("pointermove", (event) => {
    if (!node.hasPointerCapture(event.pointerId)) return;
    const box = around.getBoundingClientRect();
    if (box.width) set(((event.clientX - box.left) / box.width) * 100);
  });
  node.addEventListener("keydown", (event) => {
    const ends: Record<string, number> = { Home: LEAST, End: MOST };
    const steps: Record<string, number> = { ArrowRight: STEP, ArrowLeft: -STEP };
    const next = ends[event.key] ?? share + (steps[event.key] ?? 0);
    if (next === share && !(event.key in ends)) return;
    set(next);
    event.preventDefault();
    event.stopPropagation();
  });
  const suggest = (next: number) => {
    if (!chosen) show(next);
  };
  return { element: node, suggest };
}
