/** State shared by the plugin and the MIME renderer. JupyterLab connects a renderer neither to a kernel
 *  nor to a plugin; but both are modules of one bundle and import the same object. */

import type { IRenderMimeRegistry } from "@jupyterlab/rendermime";
import type { IRenderMime } from "@jupyterlab/rendermime-interfaces";
import type { Kernel } from "@jupyterlab/services";
import { Signal } from "@lumino/signaling";

/** The notebook or console of an output. */
export interface Site {
  /** The connected kernel. */
  kernel(): Kernel.IKernelConnection | null;
  /** Whether its kernel is being restarted or replaced. */
  restarting(): boolean;
  /** Whether it has cells. */
  readonly notebook: boolean;
  /** The cell that shows a report. */
  cellWith(report: string): string | null;
  /** Runs code in the cell, in place of the text `replaces`, else in a new one below it. */
  runCode(cellId: string | null, code: string, replaces?: string): void;
  /** Shows a cell, and a line of it; false where there is no such cell. */
  openCell(cellId: string, line: number | null): boolean;
}

export interface Shared {
  /** Finds the site of an output. Looked up when needed, so that either entry may start first. */
  site?: (resolver: IRenderMime.IResolver | null) => Site | null;
  /** For figures, and for the other forms of an output where the viewer is switched off. */
  rendermime?: IRenderMimeRegistry;
  /** Opens a report in a panel of its own. */
  openBeside?: (model: IRenderMime.IMimeModel, resolver: IRenderMime.IResolver | null) => void;
  /** False where the user switched the viewer off. */
  viewer: boolean;
  /** Emitted when a kernel is available again. */
  readonly returned: Signal<object, void>;
  /** Emitted when a kernel has died, or is restarted. */
  readonly lost: Signal<object, void>;
  readonly viewerChanged: Signal<object, boolean>;
}

const sender = {};
export const shared: Shared = {
  viewer: true,
  returned: new Signal<object, void>(sender),
  lost: new Signal<object, void>(sender),
  viewerChanged: new Signal<object, boolean>(sender),
};
