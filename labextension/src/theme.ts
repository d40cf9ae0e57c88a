/** The switch between light and dark of an exported page; notebooks have their own. */

import { element } from "./dom";

export function themeSwitch(root: HTMLElement): { element: HTMLElement; dispose: () => void } {
  const system = matchMedia("(prefers-color-scheme: dark)");
  const node = element("button", "jxs-button jxs-theme");
  node.setAttribute("aria-label", "Change between light and dark");
  const page = document.documentElement;
  const dark = () => (root.dataset.theme ? root.dataset.theme === "dark" : system.matches);
  const name = () => {
    node.textContent = dark() ? "Light" : "Dark";
  };
  node.addEventListener("click", () => {
    const theme = dark() ? "light" : "dark";
    root.dataset.theme = theme;
    // Also the page around the viewer, with its scroll bars.
    page.style.colorScheme = theme;
    name();
  });
  system.addEventListener("change", name);
  name();
  const dispose = () => {
    system.removeEventListener("change", name);
    page.style.colorScheme = "";
  };
  return { element: node, dispose };
}
