/** Keeps key presses inside a report: in a notebook, `x` cuts the cell and an arrow leaves it. */

const OURS = ".jxs-lab-report, .jxs-badge";
/** JupyterLab ignores shortcuts in an element with this attribute. */
const SUPPRESS = "data-lm-suppress-shortcuts";

/** False for shortcuts with Ctrl, Cmd or Alt and for Shift Enter, which JupyterLab still handles. */
export function belongsToReport(event: KeyboardEvent): boolean {
  const commanding = event.ctrlKey || event.metaKey || event.altKey;
  return !commanding && !(event.shiftKey && event.key === "Enter");
}

/** Listens on the window, since JupyterLab handles keys at the document, before any element. */
export function keepKeys(page: Window): void {
  page.addEventListener(
    "keydown",
    (event) => {
      // Set on the target itself: JupyterLab matches it before its ancestors.
      const { target } = event;
      if (target instanceof Element && target.closest(OURS))
        target.toggleAttribute(SUPPRESS, belongsToReport(event));
    },
    { capture: true },
  );
}
