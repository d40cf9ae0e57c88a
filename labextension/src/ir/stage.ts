/** The pane of one stage: its text, or the reason why it is absent. */

import { button, select } from "../dom";
import type { Selection, TextState } from "../model";
import { STAGE_KIND_LABELS, STAGE_KINDS, type StageKind } from "../schema/report";
import { fileName } from "../text/save";
import { LANGUAGES } from "./chosen";
import { stageDress } from "./dress";
import { costliest, instructionFigures } from "./figures";
import { Frame } from "./frame";
import { DARK, litStage } from "./lit";
import { FOLLOWED, openingLine } from "./opening";
import type { Room } from "./room";
import { hidden } from "./settings";
import { noticeOf } from "./states";
import { paneWords } from "./status";

/** Stages whose parts follow the pinned line: the others can be folded. */
const FOLLOWING: readonly StageKind[] = ["passes", "remarks"];

/** A pass in the pass log: `9 · gemv-rewriter · …`. */
const PASS = /^(\d+) · /;

export interface StageEvents {
  /** Shows the program before and after a pass. */
  compare(number: number): void;
  choose(kind: StageKind): void;
  close(): void;
}

export class StagePane {
  readonly frame: Frame;
  readonly closer: HTMLButtonElement;
  readonly chooser: HTMLSelectElement;
  private drawn: TextState | null = null;
  private folded = false;
  /** The selection whose parts alone are open. */
  private followed: Selection | null = null;
  /** The text has not been scrolled to its opening line, for want of a height. */
  private unseen = false;
  /** The line to which a new text scrolls. */
  private opening = 1;

  constructor(
    private readonly room: Room,
    readonly kind: StageKind,
    events: StageEvents,
  ) {
    const { model } = room;
    this.frame = new Frame(kind, STAGE_KIND_LABELS[kind], LANGUAGES[kind], {
      hover: (line) => model.hover(model.ofStage(kind, line)),
      leave: () => model.hover(null),
      pick: (line) => this.pick(line, events),
      move: (line) => model.hover(model.ofStage(kind, line)),
      step: (by) => room.step(by),
    });
    const kinds = STAGE_KINDS.filter((each) => each === kind || model.mayHave(each));
    const names = kinds.map((each) => STAGE_KIND_LABELS[each]);
    this.chooser = select("Stage", names, (index) => events.choose(kinds[index] ?? kind));
    this.chooser.value = String(kinds.indexOf(kind));
    this.frame.head.prepend(this.chooser);
    const [name, title] = FOLLOWING.includes(kind)
      ? ["only", "Show only the parts with a line of the pinned one"]
      : ["fold", "Fold every computation"];
    const fold = button(name, title, () => this.fold(!this.folded, fold));
    this.closer = button("×", "Close this pane", () => events.close());
    const file = () => fileName(`${model.programJson?.name ?? "program"}.${kind}`, LANGUAGES[kind]);
    this.frame.tools.append(fold, ...this.frame.exports(file), this.closer);
    this.apply();
    this.redraw();
  }

  private pick(line: number, events: StageEvents): void {
    const { model, texts } = this.room;
    const pass = this.kind === "passes" && PASS.exec(texts.lines("passes")[line - 1] ?? "");
    if (pass) events.compare(Number(pass[1]));
    else model.pin(model.ofStage(this.kind, line));
  }

  private fold(on: boolean, node: HTMLElement): void {
    this.folded = on;
    node.setAttribute("aria-pressed", String(on));
    this.followed = null;
    this.frame.pane.foldAll(on && !FOLLOWING.includes(this.kind));
    this.follow();
  }

  /** Folds what the pinned line has no part in. */
  private follow(): void {
    const { model } = this.room;
    const now = model.pinned;
    if (!this.folded || !FOLLOWING.includes(this.kind) || now === this.followed) return;
    this.followed = now;
    if (!now) {
      this.frame.pane.foldAll(false);
      return;
    }
    const { hot, soft } = model.linesOf(this.kind, now);
    this.frame.pane.foldOthers([...hot, ...soft]);
  }

  /** Call after a change of program, text or colors; returns whether the text changed. */
  redraw(): boolean {
    const { model } = this.room;
    const state = model.text(this.kind);
    const changed = state !== this.drawn;
    if (changed) {
      this.drawn = state;
      this.fill(state);
    }
    this.frame.pane.dress(stageDress(model, this.kind, this.room.hues()));
    this.figure();
    const fresh = changed && "stage" in state;
    this.unseen ||= fresh;
    this.begin();
    return fresh;
  }

  private begin(): void {
    const { model } = this.room;
    const state = model.text(this.kind);
    if (!this.unseen || !("stage" in state) || !this.frame.element.clientHeight) return;
    this.unseen = false;
    // A search has scrolled to its match.
    if (this.frame.searched) return;
    this.frame.pane.beginAt(this.opening, FOLLOWED);
    if (model.pinned) this.reveal(model.pinned);
  }

  private fill(state: TextState): void {
    const { model } = this.room;
    if ("stage" in state) {
      const lines = this.room.texts.lines(this.kind);
      this.opening = openingLine(this.kind, lines, model.instructions);
      this.frame.show(state.stage.text, lines, this.opening);
      this.followed = null;
      return;
    }
    const notice = noticeOf(
      state,
      this.kind,
      model.figures?.omitted[this.kind],
      model.payload.id !== "",
    );
    if (notice) {
      const retry = notice.retry ? () => model.tryAgain() : undefined;
      const next = notice.agree ? () => model.agree(this.kind) : retry;
      this.frame.showMessage(notice.text, notice.busy, next, notice.agree);
    }
    if (state.state === "requested") void model.request(this.kind);
  }

  private figure(): void {
    if (this.kind !== "optimized_hlo") return;
    const found = instructionFigures(this.room.model, this.room.measure());
    this.frame.pane.gutter(found?.columns ?? [], found?.cells ?? (() => null));
  }

  light(now: Selection | null): void {
    const { model } = this.room;
    const { soft, hot, spans } = now ? litStage(model, now, this.kind) : DARK;
    this.frame.pane.light(soft, hot, spans);
    this.follow();
    this.frame.foot.textContent = paneWords(model, this.kind, this.frame.pane.length, now);
  }

  reveal(now: Selection): void {
    if (now.origin === this.kind) return;
    if (now.origin === "graph" && this.kind === "optimized_hlo") {
      this.frame.pane.reveal(now.line, true);
      return;
    }
    const { model } = this.room;
    const { hot, soft } = model.linesOf(this.kind, now);
    const lines = hot.length ? hot : soft;
    const line = this.kind === "optimized_hlo" ? costliest(lines, model.instructions) : lines[0];
    if (line) this.frame.pane.reveal(line, true);
  }

  apply(): void {
    const { settings } = this.room;
    this.frame.pane.setWrap(settings.wrap);
    this.frame.pane.setRainbow(settings.rainbow);
    this.figure();
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
