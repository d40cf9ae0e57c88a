/** Pointer, wheel and keyboard of a drawing that can be moved. */

/** Pixels that a pointer moves before a press becomes a drag. */
const SLACK = 4;
/** Pixels of a line, where a wheel counts in lines. */
const LINE = 20;
/** Pixels of a wheel, with Ctrl, that make a drawing e times as large. */
const WHEEL = 240;

export interface Gestures {
  /** Whether anything moved: if not, the page around scrolls. */
  pan(dx: number, dy: number): boolean;
  zoom(factor: number, at: { x: number; y: number }): void;
  /** Whether the key meant something. */
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
    // A letter that means nothing here must not delete a cell. The slash is for the search.
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
  // The press that ended a drag is none.
  canvas.addEventListener(
    "click",
    (event) => {
      if (dragged) event.stopPropagation();
      dragged = false;
    },
    true,
  );
}
