/** Keys pressed in a report belong to it: in a notebook a lone `x` cuts the cell, an arrow leaves it. */

const OURS = ".jxs-lab-report, .jxs-badge";
/** JupyterLab looks for no shortcut in an element with this attribute. */
const SUPPRESS = "data-lm-suppress-shortcuts";

/** Shortcuts with Ctrl, Cmd or Alt and Shift Enter go on to work: saving, the palette, running the cell. */
export function belongsToReport(event: KeyboardEvent): boolean {
  const commanding = event.ctrlKey || event.metaKey || event.altKey;
  return !commanding && !(event.shiftKey && event.key === "Enter");
}

/** On the window, since JupyterLab listens at the document before any element is told. */
export function keepKeys(page: Window): void {
  page.addEventListener(
    "keydown",
    (event) => {
      // On the element itself: its own match comes before what stands around it.
      const { target } = event;
      if (target instanceof Element && target.closest(OURS))
        target.toggleAttribute(SUPPRESS, belongsToReport(event));
    },
    { capture: true },
  );
}
