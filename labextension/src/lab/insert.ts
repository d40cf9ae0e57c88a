/** Buttons of an output that insert the code beside them as a cell. */

import { type INotebookTracker, NotebookActions } from "@jupyterlab/notebook";
import { exampleOf } from "./magic";

export function insertOnClick(tracker: INotebookTracker): void {
  document.addEventListener("click", ({ target }) => {
    const code = exampleOf(target);
    const notebook = tracker.currentWidget?.content;
    if (code === null || !notebook || !(target instanceof Node)) return;
    const above = notebook.widgets.find((cell) => cell.node.contains(target));
    if (!above) return;
    notebook.activeCellIndex = notebook.widgets.indexOf(above);
    NotebookActions.insertBelow(notebook);
    notebook.activeCell?.model.sharedModel.setSource(code);
  });
}
