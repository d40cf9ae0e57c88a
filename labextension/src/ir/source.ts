/** The pane of the source, with figures by line. */

import { element, select } from "../dom";
import { splitLines } from "../links";
import type { Selection } from "../model";
import { fileName } from "../text/save";
import { count } from "../words";
import { sourceDress } from "./dress";
import { hottestLine, measuresOf, sourceFigures } from "./figures";
import { Frame } from "./frame";
import { DARK, litSource } from "./lit";
import { FOLLOWED } from "./opening";
import type { Room } from "./room";
import { hidden } from "./settings";
import { unattributedWords } from "./status";

export class SourcePane {
  readonly frame: Frame;
  private lines: string[] = [];
  private readonly chooser: HTMLSelectElement;
  /** The switch of the figure beside the lines. */
  private readonly measures = element("span", "jxs-measures");
  private shown = -1;
  /** The text has not been scrolled to the part that was compiled, for want of a height. */
  private unseen = false;

  constructor(private readonly room: Room) {
    const { model } = room;
    this.frame = new Frame("source", "Source", "python", {
      hover: (line, column) => model.hover(model.ofSource(line, column)),
      leave: () => model.hover(null),
      pick: (line, column) => model.pin(model.ofSource(line, column)),
      move: (line) => model.hover(model.ofSource(line)),
      step: (by) => room.step(by),
    });
    const names = model.data.record.sources.map((source) => source.name);
    this.chooser = select("Source", names, (index) => model.chooseSource(index));
    this.chooser.disabled = names.length < 2;
    this.measures.setAttribute("role", "group");
    this.measures.setAttribute("aria-label", "Figure beside the lines");
    this.frame.head.prepend(this.chooser, this.measures);
    const name = () => fileName(model.data.record.sources[model.source]?.name ?? "", "python");
    this.frame.tools.append(...this.frame.exports(name));
    this.redraw();
  }

  /** Call after a change of program, source or links. */
  redraw(): void {
    const { model } = this.room;
    const source = model.data.record.sources[model.source];
    this.chooser.value = String(model.source);
    this.lines = splitLines(source?.text ?? "");
    this.unseen ||= this.shown !== model.source;
    this.shown = model.source;
    if (this.lines.length) this.frame.show(source?.text ?? "", this.lines);
    else this.frame.showMessage("The source is empty.");
    const dress = sourceDress(model, this.room.hues());
    const flags = [...dress].filter(([, { flag }]) => flag).map(([line]) => line);
    this.frame.pane.dress(dress, flags);
    this.figure();
    this.begin();
  }

  /** Scrolls to the line that takes the most time; without times, past the beginning of a file, which
   *  is not part of the program. */
  private begin(): void {
    if (!this.unseen || !this.frame.element.clientHeight) return;
    this.unseen = false;
    const { model } = this.room;
    const hottest = hottestLine(model);
    const lines = [...model.equations.byLine(model.source).keys()];
    if (hottest) this.frame.pane.beginAt(hottest, FOLLOWED);
    else if (lines.length) this.frame.pane.beginAt(Math.min(...lines));
  }

  /** The number of rows of the text. */
  get rows(): number {
    return this.lines.length;
  }

  private figure(): void {
    const { model } = this.room;
    const measures = measuresOf(model);
    this.measures.replaceChildren(
      ...measures.map((measure) => {
        const node = element("button", "jxs-choice", measure);
        node.setAttribute("aria-pressed", String(measure === this.room.measure()));
        node.addEventListener("click", () => this.room.choose(measure));
        return node;
      }),
    );
    this.measures.hidden = measures.length < 2;
    const found = sourceFigures(model, this.room.measure());
    this.frame.pane.gutter(found?.columns ?? [], found?.cells ?? (() => null));
  }

  light(now: Selection | null): void {
    const { soft, hot, spans } = now ? litSource(this.room.model, now, this.lines) : DARK;
    this.frame.pane.light(soft, hot, spans);
    const words = [this.words(now, hot.size), unattributedWords(this.room.model)];
    this.frame.foot.textContent = words.filter(Boolean).join(" · ");
  }

  private words(now: Selection | null, hot: number): string {
    const here = now?.origin === "source" || now?.origin === "tab";
    if (!now) return this.lines.length ? count(this.lines.length, "line") : "";
    if (here) return `line ${now.line} of ${this.lines.length}`;
    if (!now.soft.size) return UNRELATED;
    return hot ? count(hot, "line") : "no line of this source";
  }

  reveal(now: Selection): void {
    if (now.origin === "source") return;
    const { soft, hot } = litSource(this.room.model, now, this.lines);
    const [first] = [...hot, ...soft].sort((a, b) => a - b);
    const line = hot.size ? Math.min(...hot) : first;
    if (line) this.frame.pane.reveal(line, true);
  }

  apply(): void {
    const { settings } = this.room;
    this.figure();
    this.frame.pane.setWrap(settings.wrap);
    this.frame.pane.setRainbow(settings.rainbow);
    this.frame.pane.hide(hidden(settings));
  }

  layout(): void {
    this.frame.pane.layout();
    this.begin();
  }

  dispose(): void {
    this.frame.dispose();
  }
}

const UNRELATED = "—";
