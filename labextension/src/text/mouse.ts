/** What the mouse says in a text: where it points, what it picks. */

import type { EditorView } from "@codemirror/view";
import { placeOf } from "./place";

export interface MouseEvents {
  hover(line: number, column: number): void;
  leave(): void;
  pick(line: number, column: number): void;
}

export class Mouse {
  private pointed = "";
  private waiting = 0;

  constructor(private readonly events: MouseEvents) {}

  hover(line: number, column: number): void {
    const place = `${line}:${column}`;
    if (place === this.pointed) return;
    this.pointed = place;
    this.events.hover(line, column);
  }

  left(): void {
    this.forget();
    this.events.leave();
  }

  /** What was pointed at is there no more. */
  forget(): void {
    cancelAnimationFrame(this.waiting);
    this.pointed = "";
  }

  /** Once a frame, however often the mouse says something. Never takes the event. */
  moved(event: MouseEvent, view: EditorView): false {
    if (event.buttons) return false;
    cancelAnimationFrame(this.waiting);
    this.waiting = requestAnimationFrame(() => {
      const place = placeOf(view, event);
      if (place) this.hover(...place);
    });
    return false;
  }

  clicked(event: MouseEvent, view: EditorView): false {
    // Who marks text, or clicks twice for a word, chooses no line.
    if (event.detail > 1 || event.button || !view.state.selection.main.empty) return false;
    const place = placeOf(view, event);
    if (place) this.events.pick(...place);
    return false;
  }
}
