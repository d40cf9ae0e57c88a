/** The exported page: the report is in the page, and there is no kernel. */

import "../../style/index.css";
import type { Host } from "../host";
import { renderReport } from "../render";

const host: Host = { name: "page" };

/** Renders the JSON of `#jaxscope-payload` into `#jaxscope`. */
export function start(page: Document): void {
  const parent = page.getElementById("jaxscope");
  const payload = page.getElementById("jaxscope-payload")?.textContent ?? "";
  if (parent) renderReport(parent, parsed(payload), host);
}

/** Damaged JSON goes on as text: `loadPayload` reports it in a sentence. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

start(document);
