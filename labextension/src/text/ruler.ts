/** Marks beside the scroll bar for selected lines, matches and findings. */

import type { EditorView } from "@codemirror/view";
import type { Look } from "./look";

const HEIGHT = 2;

/** The pixels at which the marks of lines begin, each once. */
export function places(lines: Iterable<number>, total: number, pixels: number): number[] {
  const found = new Set<number>();
  for (const line of lines) found.add(Math.round(((line - 0.5) / Math.max(1, total)) * pixels));
  return [...found].sort((a, b) => a - b);
}

export class Ruler {
  readonly element = document.createElement("canvas");
  private waiting = 0;
  private used = false;
  private hits: Look["hits"]["at"] | null = null;
  private found: Iterable<number> = [];

  constructor(private readonly view: EditorView) {
    this.element.className = "jxs-ruler";
    this.element.setAttribute("aria-hidden", "true");
  }

  /** Draws in the next frame, at most once. */
  later(look: Look): void {
    cancelAnimationFrame(this.waiting);
    this.waiting = requestAnimationFrame(() => this.draw(look));
  }

  dispose(): void {
    cancelAnimationFrame(this.waiting);
  }

  private draw({ soft, hot, hits, flags }: Look): void {
    // A new canvas is empty, and takes milliseconds to become one that draws.
    this.used ||= soft.size + hot.size + hits.at.length + flags.length > 0;
    if (!this.used) return;
    const { element } = this;
    const ratio = window.devicePixelRatio || 1;
    const height = Math.round(element.clientHeight * ratio);
    const width = Math.round(element.clientWidth * ratio);
    if (element.height !== height) element.height = height;
    if (element.width !== width) element.width = width;
    const context = element.getContext("2d");
    if (!context || !height) return;
    context.clearRect(0, 0, width, height);
    // Where all lines are visible, marks are redundant and look like dirt.
    const { scrollHeight, clientHeight } = this.view.scrollDOM;
    if (scrollHeight <= clientHeight) return;
    const { doc } = this.view.state;
    // A canvas cannot read variables or light-dark(): the style sheet sets the colors as plain properties.
    const style = getComputedStyle(element);
    const mark = (lines: Iterable<number>, color: string, left: number, part: number) => {
      context.fillStyle = color;
      for (const y of places(lines, doc.lines, height)) {
        context.fillRect(left * width, y, part * width, HEIGHT * ratio);
      }
    };
    // They may be many, and do not change with the selection.
    if (hits.at !== this.hits) {
      this.hits = hits.at;
      this.found = new Set(hits.at.map((at) => doc.lineAt(at).number));
    }
    mark(flags, style.columnRuleColor, 0, 0.4);
    mark(this.found, style.textDecorationColor, 0, 1);
    mark(soft, style.outlineColor, 0.3, 0.7);
    mark(hot, style.color, 0, 1);
  }
}
