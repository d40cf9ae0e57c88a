/** SVG nodes. Strings become text nodes with hidden characters escaped. */

import { visible } from "../text/hidden";

const SVG = "http://www.w3.org/2000/svg";

export function svg<K extends keyof SVGElementTagNameMap>(
  name: K,
  attributes: Readonly<Record<string, string | number>> = {},
  ...children: (Node | string)[]
): SVGElementTagNameMap[K] {
  const node = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, String(value));
  node.append(...children.map((child) => (typeof child === "string" ? visible(child) : child)));
  return node;
}

/** A smooth line through points. */
export function curve(points: readonly { x: number; y: number }[]): string {
  const [first, ...rest] = points;
  const last = rest.pop();
  if (!first || !last) return "";
  let path = `M${at(first)}`;
  rest.forEach((point, i) => {
    const next = rest[i + 1] ?? last;
    const end =
      i + 1 < rest.length ? { x: (point.x + next.x) / 2, y: (point.y + next.y) / 2 } : next;
    path += `Q${at(point)} ${at(end)}`;
  });
  return rest.length ? path : `${path}L${at(last)}`;
}

/** The arrow head at the end of a line. */
export function arrow(points: readonly { x: number; y: number }[]): string {
  const tip = points.at(-1);
  const from = points.at(-2);
  if (!tip || !from) return "";
  const length = Math.hypot(tip.x - from.x, tip.y - from.y) || 1;
  const dx = (tip.x - from.x) / length;
  const dy = (tip.y - from.y) / length;
  const back = { x: tip.x - 7 * dx, y: tip.y - 7 * dy };
  const left = { x: back.x - 3 * dy, y: back.y + 3 * dx };
  const right = { x: back.x + 3 * dy, y: back.y - 3 * dx };
  return `M${at(tip)}L${at(left)}L${at(right)}Z`;
}

function at({ x, y }: { x: number; y: number }): string {
  return `${Math.round(x * 10) / 10} ${Math.round(y * 10) / 10}`;
}
