/** Static markup from Python as DOM nodes, filtered by an allow-list. */

const HTML = "http://www.w3.org/1999/xhtml";
const SVG = "http://www.w3.org/2000/svg";

const HTML_ELEMENTS = new Set(
  (
    "p div span section h2 h3 h4 h5 table caption thead tbody tr th td ul ol li dl dt dd b strong em i " +
    "small sub sup code pre kbd br hr figure figcaption details summary a"
  ).split(" "),
);
const SVG_ELEMENTS = new Set(
  "svg g rect line circle ellipse path polyline polygon text tspan title desc".split(" "),
);

const HTML_ATTRIBUTES = new Set(
  "align colspan rowspan scope title open role aria-label".split(" "),
);
for (const name of ["aria-hidden", "data-value"]) HTML_ATTRIBUTES.add(name);
const SVG_ATTRIBUTES = new Set(
  (
    "x y x1 x2 y1 y2 dx dy cx cy r rx ry d points width height viewBox preserveAspectRatio transform " +
    "text-anchor opacity fill fill-opacity stroke stroke-width stroke-linecap stroke-dasharray " +
    "font-size role aria-label aria-hidden"
  ).split(" "),
);

/** Classes of the host page and of the viewer's own controls. */
const FOREIGN_CLASS = /^(jp|lm|cm|jxs|p|fa)-/i;
/** Levels of nesting: no table or picture of ours is deeper. */
const DEEPEST = 200;

/** Goes to a line of a source. */
export type Lead = (source: number, line: number) => void;

/** Nodes of the markup. Links to lines become buttons that call `lead`; other links become text. */
export function markupNodes(markup: string, lead: Lead): DocumentFragment {
  // A parsed document has no window: scripts do not run, resources do not load, styles do not apply.
  const inert = new DOMParser().parseFromString(markup, "text/html");
  const fragment = document.createDocumentFragment();
  copyChildren(inert.body, fragment, lead, 0);
  return fragment;
}

function copyChildren(from: Node, to: Node, lead: Lead, depth: number): void {
  if (depth > DEEPEST) return;
  for (const child of Array.from(from.childNodes)) {
    if (child.nodeType === Node.TEXT_NODE) {
      to.appendChild(document.createTextNode(child.nodeValue ?? ""));
    } else if (child.nodeType === Node.ELEMENT_NODE) {
      const copy = copied(child as Element, lead);
      if (!copy) continue;
      copyChildren(child, copy, lead, depth + 1);
      to.appendChild(copy);
    }
  }
}

function copied(element: Element, lead: Lead): Element | null {
  const name = element.localName;
  if (element.namespaceURI === SVG && SVG_ELEMENTS.has(name)) {
    return attributed(element, document.createElementNS(SVG, name), SVG_ATTRIBUTES);
  }
  if (element.namespaceURI !== HTML || !HTML_ELEMENTS.has(name)) return null;
  if (name === "a") return link(element, lead);
  return attributed(element, document.createElement(name), HTML_ATTRIBUTES);
}

function link(element: Element, lead: Lead): Element {
  const line = number(element.getAttribute("data-line"));
  const source = number(element.getAttribute("data-source") ?? "0");
  if (line === null || source === null) {
    return attributed(element, document.createElement("span"), HTML_ATTRIBUTES);
  }
  const button = document.createElement("button");
  attributed(element, button, HTML_ATTRIBUTES);
  button.type = "button";
  button.classList.add("jxs-link");
  button.addEventListener("click", () => lead(source, line));
  return button;
}

function number(value: string | null): number | null {
  return value !== null && /^\d{1,9}$/.test(value) ? Number(value) : null;
}

function attributed<E extends Element>(from: Element, to: E, allowed: ReadonlySet<string>): E {
  for (const { name, value } of Array.from(from.attributes)) {
    if (name === "class") {
      const classes = value.split(/\s+/).filter((each) => each && !FOREIGN_CLASS.test(each));
      if (classes.length) to.setAttribute("class", classes.join(" "));
    } else if (allowed.has(name) && !/url\s*\(|javascript:/i.test(value)) {
      to.setAttribute(name, value);
    }
  }
  return to;
}
