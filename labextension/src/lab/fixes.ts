/** The fixes of recompilations that can be tried, asked of the kernel after each cell. */

import type { NextStepJson } from "../schema/report";

type Ask = (cell: number) => Promise<readonly NextStepJson[]>;

/** The steps of one kernel, by the number of the cell. */
export class Fixes {
  private readonly asked = new Map<number, number>();
  private readonly steps = new Map<number, readonly NextStepJson[]>();

  constructor(
    private readonly ask: Ask,
    private readonly changed: () => void,
  ) {}

  /** Asks for each cell about which `recompilations` have been heard since it was asked. */
  update(recompilations: ReadonlyMap<number, number>): void {
    for (const [cell, number] of recompilations) {
      if (this.asked.get(cell) === number) continue;
      this.asked.set(cell, number);
      void this.ask(cell).then(
        (steps) => {
          if (!steps.length && !this.steps.has(cell)) return;
          this.steps.set(cell, steps);
          this.changed();
        },
        // A kernel that cannot answer cannot try a fix either.
        () => undefined,
      );
    }
  }

  /** A fix was tried: the next update asks again. */
  again(): void {
    this.asked.clear();
  }

  /** The trial of the fix of a compilation. */
  beside(serial: number): NextStepJson | undefined {
    const all = [...this.steps.values()].flat();
    return all.find((step) => step.serials?.includes(serial));
  }

  /** The trial of all fixes of a cell. */
  below(cell: number | null): NextStepJson | undefined {
    const steps = cell === null ? undefined : this.steps.get(cell);
    return steps?.find((step) => !step.serials);
  }
}
