/** Requests to the kernel: one comm per request, which the kernel closes after its answer. */

import type { Kernel, KernelMessage } from "@jupyterlab/services";
import type { JSONObject } from "@lumino/coreutils";
import { copied, gunzipJson } from "../gzip";
import { TextAbsent } from "../host";
import { readReply } from "../schema/report";

export const TARGET = "jaxscope.report";
const PATIENCE_MS = 1000;

interface Subshell {
  commsOverSubshells?: string;
  subshellStarted?: Promise<unknown>;
}

/** The answer of the kernel: its data, and the buffer beside it. */
export interface Answer {
  data: JSONObject;
  bytes: Uint8Array<ArrayBuffer> | null;
}

/** Sends one request and waits for its answer, which may take as long as the running cell. */
export async function send(
  kernel: Kernel.IKernelConnection,
  target: string,
  request: JSONObject,
): Promise<Answer> {
  if (!kernel.handleComms)
    throw new TextAbsent("error", "This view is not connected to the kernel.");
  await kernel.info;
  const comm = kernel.createComm(target);
  await subshell(kernel, comm);
  // A kernel that is starting will answer, and has lost nothing.
  if (broken(kernel) && kernel.status !== "starting") throw new TextAbsent("restarted");
  return new Promise<Answer>((resolve, reject) => {
    const fail = (error: TextAbsent) => {
      kernel.statusChanged.disconnect(onStatus);
      kernel.disposed.disconnect(onGone);
      reject(error);
    };
    // A restart removes the comms without notifying them.
    const onStatus = () => {
      if (broken(kernel)) fail(new TextAbsent("restarted"));
    };
    const onGone = () => fail(new TextAbsent("no-kernel"));
    kernel.statusChanged.connect(onStatus);
    kernel.disposed.connect(onGone);
    comm.onMsg = (message: KernelMessage.ICommMsgMsg) => {
      kernel.statusChanged.disconnect(onStatus);
      kernel.disposed.disconnect(onGone);
      const data = message.content.data as JSONObject;
      const [buffer] = message.buffers ?? [];
      resolve({ data, bytes: buffer ? copied(buffer) : null });
    };
    // Closed without an answer: jaxscope is not loaded in this kernel.
    comm.onClose = () => fail(new TextAbsent("forgotten"));
    Promise.resolve(comm.open(request).done).catch(() => fail(new TextAbsent("restarted")));
  });
}

/** Waits for the subshell of the comm: without it, a request waits for the running cell. */
export async function subshell(
  kernel: Kernel.IKernelConnection,
  comm: Kernel.IComm,
): Promise<void> {
  const { commsOverSubshells, subshellStarted } = comm as Kernel.IComm & Subshell;
  if (!kernel.supportsSubshells || commsOverSubshells === "disabled" || !subshellStarted) return;
  const late = new Promise((resolve) => setTimeout(resolve, PATIENCE_MS));
  await Promise.race([subshellStarted, late]);
}

/** Whether the kernel has lost its state, or is about to. */
export function broken(kernel: Kernel.IKernelConnection): boolean {
  const lost = ["restarting", "autorestarting", "terminating", "dead", "starting"];
  return kernel.isDisposed || lost.includes(kernel.status);
}

/** Requests a text or a figure of a report. The answer is gzipped JSON. */
export async function requestReport(
  kernel: Kernel.IKernelConnection,
  request: JSONObject,
): Promise<unknown> {
  const { data, bytes } = await send(kernel, TARGET, request);
  const reply = readReply(data);
  if (!reply?.ok) throw new TextAbsent(reply?.why ?? "error", reply?.message);
  if (!bytes) throw new TextAbsent("error", "The kernel's answer has no content.");
  return gunzipJson(bytes);
}
