/** Tabs: ARIA roles, keyboard, one visible panel. */

import { element } from "./dom";
import type { View } from "./views/view";

export interface TabList {
  bar: HTMLElement;
  main: HTMLElement;
  open(index: number): void;
}

export function tablist(
  id: string,
  label: string,
  parts: readonly { title: string; view: View }[],
): TabList {
  const bar = element("div", "jxs-tabs");
  const list = element("div", "jxs-tablist");
  list.setAttribute("role", "tablist");
  list.setAttribute("aria-label", label);
  bar.append(list);
  const main = element("div", "jxs-main");
  const tabs = parts.map(({ title, view }, index) => {
    const tab = element("button", "jxs-tab-button", title);
    tab.id = `${id}-tab${index}`;
    tab.setAttribute("role", "tab");
    const panel = element("div", "jxs-panel", view.element);
    panel.id = `${id}-panel${index}`;
    panel.setAttribute("role", "tabpanel");
    panel.setAttribute("aria-labelledby", tab.id);
    tab.setAttribute("aria-controls", panel.id);
    tab.addEventListener("click", () => open(index));
    list.append(tab);
    main.append(panel);
    if (view.controls) bar.append(view.controls);
    return { tab, panel, view };
  });
  const open = (index: number) => {
    for (const [i, { tab, panel, view }] of tabs.entries()) {
      tab.setAttribute("aria-selected", String(i === index));
      tab.tabIndex = i === index ? 0 : -1;
      panel.hidden = i !== index;
      if (view.controls) view.controls.hidden = i !== index;
    }
    tabs[index]?.view.shown?.();
  };
  list.addEventListener("keydown", (event) => {
    const here = tabs.findIndex(({ tab }) => tab === event.target);
    const ends: Record<string, number> = { Home: 0, End: tabs.length - 1 };
    const steps: Record<string, number> = { ArrowRight: 1, ArrowLeft: -1 };
    const step = steps[event.key];
    const next = ends[event.key] ?? (step && (here + step + tabs.length) % tabs.length);
    if (here < 0 || next === undefined) return;
    open(next);
    tabs[next]?.tab.focus();
    event.preventDefault();
  });
  return { bar, main, open };
}
