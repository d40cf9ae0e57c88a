/** The visible part of a drawing, and its scale. */

export const SMALLEST = 0.15;
export const LARGEST = 2.5;
/** The largest scale of a drawing that fits. */
const NATURAL = 1;
/** The least scale of a drawing that is fitted: its labels of 12 px then have 11. */
const READABLE = 11 / 12;
/** Pixels of the drawing that stay visible at the edge. */
const KEPT = 60;

export interface Size {
  width: number;
  height: number;
}

/** A point of the drawing is shown at `x + scale * point` of the window. */
export class Camera {
  x = 0;
  y = 0;
  scale = 1;
  window: Size = { width: 0, height: 0 };
  drawing: Size = { width: 0, height: 0 };

  /** Fits the drawing into the window, at its natural size at most. */
  private fit(): void {
    const { width, height } = this.drawing;
    const scale = Math.min(this.window.width / width, this.window.height / height, NATURAL);
    this.scale = Number.isFinite(scale) ? Math.max(scale, SMALLEST) : NATURAL;
    this.x = (this.window.width - width * this.scale) / 2;
    this.y = (this.window.height - height * this.scale) / 2;
  }

  /** Shows all of the drawing where it is readable at that size; else centers a point. */
  look(point: { x: number; y: number }): void {
    this.fit();
    if (this.scale >= READABLE) return;
    this.scale = READABLE;
    this.x = this.window.width / 2 - point.x * this.scale;
    this.y = this.window.height / 2 - point.y * this.scale;
    // No empty margin beside a drawing that is larger than the window.
    const filled = (at: number, size: number, room: number) =>
      size < room ? (room - size) / 2 : Math.min(Math.max(at, room - size), 0);
    this.x = filled(this.x, this.drawing.width * this.scale, this.window.width);
    this.y = filled(this.y, this.drawing.height * this.scale, this.window.height);
  }

  /** Returns whether anything moved: at the edge, the page may scroll instead. */
  pan(dx: number, dy: number): boolean {
    const { x, y } = this;
    this.x += dx;
    this.y += dy;
    this.bound();
    return Math.abs(this.x - x) + Math.abs(this.y - y) > 0.5;
  }

  /** Zooms around a point of the window. */
  zoom(factor: number, at = { x: this.window.width / 2, y: this.window.height / 2 }): void {
    const scale = Math.min(Math.max(this.scale * factor, SMALLEST), LARGEST);
    this.x = at.x - ((at.x - this.x) * scale) / this.scale;
    this.y = at.y - ((at.y - this.y) * scale) / this.scale;
    this.scale = scale;
    this.bound();
  }

  /** Moves as little as possible to make a box visible. */
  reveal(box: { x: number; y: number; width: number; height: number }, margin = 16): void {
    const shift = (at: number, middle: number, size: number, room: number) => {
      const low = at + (middle - size / 2) * this.scale;
      const high = at + (middle + size / 2) * this.scale;
      if (low < margin) return margin - low;
      return high > room - margin ? room - margin - high : 0;
    };
    this.x += shift(this.x, box.x, box.width, this.window.width);
    this.y += shift(this.y, box.y, box.height, this.window.height);
  }

  get transform(): string {
    return `translate(${this.x}px, ${this.y}px) scale(${this.scale})`;
  }

  private bound(): void {
    const within = (at: number, size: number, room: number) =>
      Math.min(Math.max(at, KEPT - size * this.scale), room - KEPT);
    this.x = within(this.x, this.drawing.width, this.window.width);
    this.y = within(this.y, this.drawing.height, this.window.height);
  }
}
