/** The worker that computes layouts. */

import { layout, type Plan } from "./layout";

self.onmessage = (event: MessageEvent<{ id: number; plan: Plan }>) => {
  const { id, plan } = event.data;
  try {
    self.postMessage({ id, layout: layout(plan) });
  } catch (error) {
    self.postMessage({ id, error: String(error) });
  }
};
