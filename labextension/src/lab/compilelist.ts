/** The list in the side panel: one entry per compilation or storm. */

import type { CompileEventJson, CompileKind } from "../schema/compiles";
import { count, seconds } from "../words";
import { event as firstOf, type Group, secondsOf, totals } from "./compiles";

/** Kinds of compilations that are named in the entry. */
const KINDS: Readonly<Partial<Record<CompileKind, string>>> = {
  eager: "outside any jit",
  nested: "during another compilation",
  transformed: "transformed",
  pmap: "pmap",
};
/** Entries rendered; a line at the end counts the rest. */
const SHOWN = 200;

export class CompileList {
  readonly element = document.createElement("ol");
  private readonly unfolded = new Set<string>();

  constructor(private readonly open: (event: CompileEventJson) => void) {
    this.element.className = "jxs-compiles-list";
  }

  show(all: readonly Group[]): void {
    const items = all.slice(0, SHOWN).map((group, i) => {
      // Eager operations come in sequences with the same fix: it is shown once.
      const above = all[i - 1];
      const repeated = above !== undefined && fixOf(above) === fixOf(group);
      return this.item(group, !repeated);
    });
    if (all.length > SHOWN) {
      const rest = document.createElement("li");
      rest.className = "jxs-compile-rest";
      rest.textContent = `${all.length - SHOWN} older ones are not listed. %jaxlog lists all.`;
      items.push(rest);
    }
    const focused = this.focused();
    this.element.replaceChildren(...items);
    if (focused)
      this.element.querySelector<HTMLElement>(`[data-key="${CSS.escape(focused)}"]`)?.focus();
  }

  /** The key of the focused entry, to restore the focus after a redraw. */
  private focused(): string {
    const active = document.activeElement;
    return active instanceof HTMLElement && this.element.contains(active)
      ? (active.dataset.key ?? "")
      : "";
  }

  private item(group: Group, withFix: boolean): HTMLElement {
    const item = document.createElement("li");
    const newest = firstOf(group.events);
    item.className = "jxs-compile";
    item.classList.toggle(
      "jxs-again",
      group.events.some((each) => each.recompile),
    );
    item.classList.toggle("jxs-failed", Boolean(newest.error));
    item.append(this.entry(group, withFix));
    if (group.events.length > 1) item.append(this.fold(group));
    return item;
  }

  private entry(group: Group, withFix: boolean): HTMLElement {
    const newest = firstOf(group.events);
    const entry = document.createElement("button");
    entry.type = "button";
    entry.className = "jxs-compile-entry";
    entry.dataset.key = group.key;
    entry.addEventListener("click", () => this.open(newest));
    entry.append(head(group));
    if (newest.text) entry.append(code(newest));
    if (newest.error) entry.append(words("cause", `Failed: ${newest.error}`));
    if (group.storm) entry.append(words("cause", sentence(group.storm.pattern)));
    else if (newest.cause) entry.append(words(newest.recompile ? "cause" : "first", newest.cause));
    const fix = fixOf(group);
    if (fix && withFix) entry.append(words("fix", `→ ${fix}`));
    if (group.events.length === 1) entry.append(span("phases", phases(newest)));
    return entry;
  }

  private fold(group: Group): HTMLElement {
    const details = document.createElement("details");
    const summary = document.createElement("summary");
    summary.textContent = `All ${group.events.length} compilations`;
    summary.dataset.key = `${group.key}/fold`;
    details.open = this.unfolded.has(group.key);
    details.append(summary);
    details.addEventListener("toggle", () => {
      if (details.open) this.unfolded.add(group.key);
      else this.unfolded.delete(group.key);
      if (details.open && details.childElementCount === 1) details.append(each(group));
    });
    if (details.open) details.append(each(group));
    return details;
  }
}

function head(group: Group): HTMLElement {
  const newest = firstOf(group.events);
  const { recompiles, seconds: total } = totals(group.events);
  const row = span("head", "");
  const place = span("place", placeOf(newest));
  const names = new Set(group.events.map((event) => event.fun_name));
  const name = span("name", names.size === 1 ? newest.fun_name : "eager operations");
  row.append(place, name);
  if (group.events.length > 1) row.append(span("storm", `× ${group.events.length}`));
  if (recompiles) {
    const words = group.events.length > 1 ? count(recompiles, "recompile") : "recompile";
    row.append(span("mark", `↻ ${words}`));
  }
  row.append(span("seconds", seconds(total)));
  return row;
}

/** `In [3]`: the number of the line is shown before its text. */
function placeOf(event: CompileEventJson): string {
  const place = event.text ? event.place.replace(/:\d+$/, "") : event.place;
  return place || (event.cell ? `In [${event.cell}]` : "");
}

function code(event: CompileEventJson): HTMLElement {
  const row = document.createElement("code");
  row.className = "jxs-compile-code";
  row.append(span("number", String(event.line ?? "")), event.text);
  return row;
}

function fixOf(group: Group): string {
  return group.storm ? group.storm.fix : firstOf(group.events).fix;
}

/** A clause as a sentence. */
function sentence(clause: string): string {
  return `${clause.slice(0, 1).toUpperCase()}${clause.slice(1)}.`;
}

function each(group: Group): HTMLElement {
  const list = document.createElement("ul");
  list.className = "jxs-compile-each";
  for (const event of group.events) {
    const item = document.createElement("li");
    const cause = event.cause || `\`${event.fun_name}\``;
    item.append(span("seconds", seconds(secondsOf(event))), words("cause", cause));
    list.append(item);
  }
  return list;
}

function phases(event: CompileEventJson): string {
  const parts = [
    ["trace", event.trace_s],
    ["lower", event.lower_s],
    [event.persistent === "hit" ? "from the persistent cache" : "XLA", event.compile_s],
  ] as const;
  // The panel is narrow: no line break between a number, its name and its unit.
  const spent = parts
    .filter(([, spent]) => spent)
    .map(([name, spent]) => `${name} ${seconds(spent)}`.replaceAll(" ", "\u00a0"));
  const kind = KINDS[event.kind];
  return [...(kind ? [kind] : []), ...spent].join(" · ");
}

/** A sentence whose names in backticks become code. */
function words(name: string, sentence: string): HTMLElement {
  const element = span(name, "");
  sentence.split("`").forEach((part, i) => {
    const code = document.createElement("code");
    code.textContent = part;
    element.append(i % 2 ? code : part);
  });
  return element;
}

function span(name: string, text: string): HTMLElement {
  const element = document.createElement("span");
  element.className = `jxs-compile-${name}`;
  element.textContent = text;
  return element;
}
