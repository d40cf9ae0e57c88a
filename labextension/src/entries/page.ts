/** The exported page: the report that stands in it, and nobody to ask for more. */

import "../../style/index.css";
import type { Host } from "../host";
import { renderReport } from "../render";

const host: Host = { name: "page" };

/** Draws into `#jaxscope` what `#jaxscope-payload` holds, as JSON. */
export function start(page: Document): void {
  const parent = page.getElementById("jaxscope");
  const payload = page.getElementById("jaxscope-payload")?.textContent ?? "";
  if (parent) renderReport(parent, parsed(payload), host);
}

/** A damaged page is told so by the reader of payloads, which takes a text, too. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

start(document);
