/** Keyboard navigation between the boxes: along the edges, and sideways. */

import type { Drawing } from "./drawing";
import type { Neighborhood, Side } from "./neighborhood";
import { ahead, beside } from "./steps";

export class Walk {
  /** The last step. */
  private came: { from: number; to: number } | null = null;

  constructor(
    private readonly drawing: Drawing,
    private readonly around: () => Neighborhood | null,
  ) {}

  /** The next visible box above or below; negative where there is none. */
  along(index: number, sides: readonly Side[]): number {
    const around = this.around();
    const next = sides.flatMap((side) => around?.next(index, side) ?? []);
    const shown = next.filter((each) => around?.shown.has(each));
    // Going back returns to the previous box.
    if (this.came?.to === index && shown.includes(this.came.from)) return this.came.from;
    return ahead(index, shown, (each) => this.drawing.place(each));
  }

  aside(index: number, way: 1 | -1): number {
    const others = [...(this.around()?.shown ?? [])];
    return beside(index, others, way, (each) => this.drawing.place(each));
  }

  /** Focuses a box and returns its place. */
  go(index: number): ReturnType<Drawing["place"]> {
    if (index < 0) return undefined;
    this.came = { from: this.drawing.focused, to: index };
    this.drawing.focus(index);
    return this.drawing.place(index);
  }
}
