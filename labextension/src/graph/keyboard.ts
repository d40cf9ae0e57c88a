/** The keys of the graph: the arrow keys follow the edges, the others change what is shown. */

import { ZOOM } from "./bar";
import type { Drawing } from "./drawing";
import type { Walk } from "./walk";

/** What keys do, by the index of an instruction. */
export interface GraphActions {
  zoom(factor: number): void;
  fit(): void;
  reveal(place: ReturnType<Drawing["place"]>): void;
  press(index: number): void;
  unfold(index: number): void;
  hide(index: number): void;
}

type Keys<T extends unknown[]> = Readonly<Record<string, (...given: T) => void>>;

export class GraphKeys {
  private readonly view: Keys<[]>;
  private readonly box: Keys<[number]>;

  constructor(
    private readonly drawing: Drawing,
    walk: Walk,
    actions: GraphActions,
  ) {
    this.view = {
      "+": () => actions.zoom(ZOOM),
      "=": () => actions.zoom(ZOOM),
      "-": () => actions.zoom(1 / ZOOM),
      "0": () => actions.fit(),
    };
    this.box = {
      ArrowUp: (index) => actions.reveal(walk.go(walk.along(index, ["above"]))),
      ArrowDown: (index) => actions.reveal(walk.go(walk.along(index, ["below"]))),
      ArrowLeft: (index) => actions.reveal(walk.go(walk.aside(index, -1))),
      ArrowRight: (index) => actions.reveal(walk.go(walk.aside(index, 1))),
      Enter: actions.press,
      " ": actions.unfold,
      Delete: actions.hide,
      Backspace: actions.hide,
    };
  }

  /** Returns whether the key was handled. */
  handle(event: KeyboardEvent): boolean {
    const view = this.view[event.key];
    const { focused } = this.drawing;
    const box = focused < 0 ? undefined : this.box[event.key];
    const target = event.target instanceof Element ? event.target : null;
    if (view) view();
    else if (box && target?.matches(".jxs-node-main")) box(focused);
    else if (["Enter", " "].includes(event.key) && target?.matches("[role=button]"))
      target.dispatchEvent(new MouseEvent("click", { bubbles: true }));
    else return false;
    return true;
  }
}
