/** The list in the side panel: one entry per compilation or storm. */

import { element, quoted } from "../dom";
import { trial } from "../next";
import type { CompileEventJson, CompileKind } from "../schema/compiles";
import type { NextStepJson } from "../schema/report";
import { count, seconds } from "../words";
import { event as firstOf, type Group, type Section, secondsOf } from "./compiles";
import type { Fixes } from "./fixes";

/** Kinds of compilations that are named in the entry. */
const KINDS: Readonly<Partial<Record<CompileKind, string>>> = {
  eager: "outside any jit",
  nested: "during another compilation",
  transformed: "transformed",
  pmap: "pmap",
};
const TITLES: Readonly<Record<Section, string>> = {
  again: "Recompiled functions",
  first: "First compilations",
  eager: "Eager operations",
};
/** Entries rendered; a line at the end counts the rest. */
const SHOWN = 200;

export class CompileList {
  readonly element = element("ol", "jxs-compiles-list");
  private readonly unfolded = new Set<string>();

  constructor(
    private readonly open: (event: CompileEventJson) => void,
    private readonly take: (step: NextStepJson, event: CompileEventJson) => void,
  ) {}

  show(all: readonly Group[], fixes: Fixes | null): void {
    const advised = new Set<string>();
    const offered = new Set<NextStepJson>();
    const items = all.slice(0, SHOWN).flatMap((group, i) => {
      const fix = fixOf(group);
      const found = firstStep(group, fixes);
      const step = found && !offered.has(found) ? found : undefined;
      const item = this.item(group, advised.has(fix) ? "" : fix, step);
      advised.add(fix);
      if (step) offered.add(step);
      if (all[i - 1]?.section === group.section) return [item];
      return [element("li", "jxs-compile-section", TITLES[group.section]), item];
    });
    if (all.length > SHOWN) {
      const rest = `${all.length - SHOWN} older ones are not listed. %jaxlog lists all.`;
      items.push(element("li", "jxs-compile-rest", rest));
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

  private item(group: Group, fix: string, step: NextStepJson | undefined): HTMLElement {
    const again = group.storm || group.section === "again" ? " jxs-again" : "";
    const newest = firstOf(group.events);
    const failed = newest.error ? " jxs-failed" : "";
    const item = element("li", `jxs-compile${again}${failed}`, this.entry(group, fix));
    item.classList.toggle("jxs-idle", step?.gain === false);
    if (step) {
      const node = trial(step, () => this.take(step, newest));
      const button = node.querySelector("button");
      if (button) {
        button.dataset.key = `${group.key}/try`;
        button.setAttribute("aria-label", `${step.label}: ${newest.fun_name}`);
      }
      item.append(node);
    }
    if (group.events.length > 1) item.append(this.fold(group));
    return item;
  }

  private entry(group: Group, fix: string): HTMLElement {
    const newest = firstOf(group.events);
    const entry = element("button", "jxs-compile-entry", head(group));
    entry.dataset.key = group.key;
    entry.addEventListener("click", () => this.open(newest));
    if (isCell(group)) {
      entry.append(
        words(
          "first",
          namesOf(group)
            .map((name) => `\`${name}\``)
            .join(", "),
        ),
      );
      return entry;
    }
    if (newest.text) entry.append(code(newest));
    if (newest.error) entry.append(words("cause", `Failed: ${newest.error}`));
    if (group.storm) entry.append(words("cause", sentence(group.storm.pattern)));
    else if (newest.cause) entry.append(words(newest.recompile ? "cause" : "first", newest.cause));
    if (fix) entry.append(words("fix", `→ ${fix}`));
    if (group.events.length === 1) entry.append(span("phases", phases(newest)));
    return entry;
  }

  private fold(group: Group): HTMLElement {
    const summary = element("summary", "", `All ${group.events.length} compilations`);
    summary.dataset.key = `${group.key}/fold`;
    const details = element("details", "", summary);
    details.open = this.unfolded.has(group.key);
    details.addEventListener("toggle", () => {
      if (details.open) this.unfolded.add(group.key);
      else this.unfolded.delete(group.key);
      if (details.open && details.childElementCount === 1) details.append(each(group));
    });
    if (details.open) details.append(each(group));
    return details;
  }
}

/** The trial of the group's fix. */
function firstStep(group: Group, fixes: Fixes | null): NextStepJson | undefined {
  for (const { serial } of group.events) {
    const found = fixes?.beside(serial);
    if (found) return found;
  }
  return undefined;
}

function head(group: Group): HTMLElement {
  const newest = firstOf(group.events);
  const total = group.events.reduce((sum, each) => sum + secondsOf(each), 0);
  const names = namesOf(group);
  const place = isCell(group) && newest.cell ? `In [${newest.cell}]` : placeOf(newest);
  const small = `${count(group.events.length, "compilation")}`;
  const one = names.length === 1 ? newest.fun_name : "eager operations";
  const name = span("name", isCell(group) ? small : one);
  const row = span("head", span("place", place), name);
  if (group.events.length > 1 && !isCell(group))
    row.append(span("storm", `× ${group.events.length}`));
  const recompiles = group.events.filter((each) => each.recompile).length;
  if (recompiles) {
    const words = group.events.length > 1 ? count(recompiles, "recompile") : "recompile";
    row.append(span("mark", `↻ ${words}`));
  }
  row.append(span("seconds", seconds(total)));
  return row;
}

/** Whether it is the eager operations of a cell: JAX compiles each once per shape. */
function isCell(group: Group): boolean {
  return group.section === "eager" && !group.storm;
}

function namesOf(group: Group): string[] {
  return [...new Set(group.events.map((event) => event.fun_name))];
}

/** `In [3]`: the number of the line is shown before its text. */
function placeOf(event: CompileEventJson): string {
  const place = event.text ? event.place.replace(/:\d+$/, "") : event.place;
  return place || (event.cell ? `In [${event.cell}]` : "");
}

function code(event: CompileEventJson): HTMLElement {
  return element("code", "jxs-compile-code", span("number", String(event.line ?? "")), event.text);
}

function fixOf(group: Group): string {
  if (isCell(group)) return "";
  return group.storm ? group.storm.fix : firstOf(group.events).fix;
}

/** A clause as a sentence. */
function sentence(clause: string): string {
  return `${clause.slice(0, 1).toUpperCase()}${clause.slice(1)}.`;
}

function each(group: Group): HTMLElement {
  const items = group.events.map((event) => {
    const cause = words("cause", event.cause || `\`${event.fun_name}\``);
    return element("li", "", span("seconds", seconds(secondsOf(event))), cause);
  });
  return element("ul", "jxs-compile-each", ...items);
}

function phases(event: CompileEventJson): string {
  const last = event.persistent === "hit" ? "from the persistent cache" : "XLA";
  const { trace_s: trace, lower_s: lower, compile_s: compile } = event;
  const parts = Object.entries({ trace, lower, [last]: compile });
  // The panel is narrow: no line break between a number, its name and its unit.
  const spent = parts
    .filter(([, spent]) => spent)
    .map(([name, spent]) => `${name} ${seconds(spent)}`.replaceAll(" ", "\u00a0"));
  const kind = KINDS[event.kind];
  return [...(kind ? [kind] : []), ...spent].join(" · ");
}

function words(name: string, sentence: string): HTMLElement {
  return span(name, ...quoted(sentence));
}

function span(name: string, ...children: (Node | string)[]): HTMLElement {
  return element("span", `jxs-compile-${name}`, ...children);
}
