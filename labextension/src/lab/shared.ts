/** What the plugin tells the MIME renderer. JupyterLab gives a renderer no way to a kernel, and a plugin
 *  no way to a renderer; both are modules of one bundle, so this one is the same for both. */

import type { IRenderMimeRegistry } from "@jupyterlab/rendermime";
import type { IRenderMime } from "@jupyterlab/rendermime-interfaces";
import type { Kernel } from "@jupyterlab/services";
import { Signal } from "@lumino/signaling";

/** The notebook or console that an output stands in. */
export interface Site {
  /** The kernel that can be asked now. */
  kernel(): Kernel.IKernelConnection | null;
  /** Whether its kernel was replaced or is being restarted right now. */
  restarting(): boolean;
  /** Shows a cell of it, and a line of the cell; false where there is no such cell. */
  openCell(cellId: string, line: number | null): boolean;
}

export interface Shared {
  /** Finds the place of an output. Looked up when needed, so it does not matter which entry starts first. */
  site?: (resolver: IRenderMime.IResolver | null) => Site | null;
  /** For figures, and for the other forms of an output where the viewer is switched off. */
  rendermime?: IRenderMimeRegistry;
  /** The user can switch the viewer off. */
  viewer: boolean;
  /** Some kernel can be asked again. */
  readonly returned: Signal<object, void>;
  readonly viewerChanged: Signal<object, boolean>;
}

const sender = {};
export const shared: Shared = {
  viewer: true,
  returned: new Signal<object, void>(sender),
  viewerChanged: new Signal<object, boolean>(sender),
};
