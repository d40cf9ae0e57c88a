/** Mouse events of a text: hover and click by line and column. */

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

  /** Drops the hovered position, whose text is gone. */
  forget(): void {
    cancelAnimationFrame(this.waiting);
    this.pointed = "";
  }

  /** At most once per frame. Never handles the event itself. */
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
    // Selecting text, or a double click on a word, does not select the line.
    if (event.detail > 1 || event.button || !view.state.selection.main.empty) return false;
    const place = placeOf(view, event);
    if (place) this.events.pick(...place);
    return false;
  }
}
