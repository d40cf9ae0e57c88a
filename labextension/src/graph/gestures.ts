/** Pointer, wheel and keyboard of a drawing that pans and zooms. */

/** Pixels from which a press is a drag. */
const SLACK = 4;
/** Pixels per line, for wheels that count lines. */
const LINE = 20;
/** Pixels of a wheel with Ctrl that zoom by a factor of e. */
const WHEEL = 240;

export interface Gestures {
  /** Returns whether anything moved: if not, the page scrolls. */
  pan(dx: number, dy: number): boolean;
  zoom(factor: number, at: { x: number; y: number }): void;
  /** Returns whether the key was handled. */
  key(event: KeyboardEvent): boolean;
}

export function gestures(canvas: SVGSVGElement, gestures: Gestures): void {
  drags(canvas, gestures);
  canvas.addEventListener(
    "wheel",
    (event) => {
      if (event.ctrlKey || event.metaKey) {
        const box = canvas.getBoundingClientRect();
        const at = { x: event.clientX - box.left, y: event.clientY - box.top };
        gestures.zoom(Math.exp(-event.deltaY / WHEEL), at);
        event.preventDefault();
        return;
      }
      const unit = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? LINE : 1;
      if (gestures.pan(-event.deltaX * unit, -event.deltaY * unit)) event.preventDefault();
    },
    { passive: false },
  );
  canvas.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const taken = gestures.key(event);
    if (taken) event.preventDefault();
    // An unhandled letter must not reach the notebook, where it may delete a cell. The slash searches.
    if (taken || (event.key.length === 1 && event.key !== "/")) event.stopPropagation();
  });
}

function drags(canvas: SVGSVGElement, { pan }: Gestures): void {
  let from: { x: number; y: number } | null = null;
  let dragged = false;
  canvas.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    from = { x: event.clientX, y: event.clientY };
    dragged = false;
  });
  canvas.addEventListener("pointermove", (event) => {
    if (!from) return;
    const dx = event.clientX - from.x;
    const dy = event.clientY - from.y;
    if (!dragged && Math.hypot(dx, dy) < SLACK) return;
    if (!dragged) canvas.setPointerCapture(event.pointerId);
    dragged = true;
    canvas.classList.add("jxs-dragged");
    from = { x: event.clientX, y: event.clientY };
    pan(dx, dy);
  });
  const end = () => {
    from = null;
    canvas.classList.remove("jxs-dragged");
  };
  canvas.addEventListener("pointerup", end);
  canvas.addEventListener("pointercancel", end);
  // The end of a drag is not a click.
  canvas.addEventListener(
    "click",
    (event) => {
      if (dragged) event.stopPropagation();
      dragged = false;
    },
    true,
  );
}
