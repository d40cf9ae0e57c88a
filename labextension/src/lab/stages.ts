/** A bounded cache of texts from the kernel, shared by all views of a report. */

import type { StageAnswerJson } from "../schema/report";

/** Characters kept, about 200 MB in the browser. */
const ROOM = 100e6;

interface Kept {
  answer: Promise<StageAnswerJson>;
  size: number;
}

export class Stages {
  private readonly kept = new Map<string, Kept>();

  constructor(private readonly room = ROOM) {}

  /** The answer for a key, requested once. A failure is not cached. */
  get(key: string, request: () => Promise<StageAnswerJson>): Promise<StageAnswerJson> {
    const known = this.kept.get(key);
    if (known) {
      // The most recently used comes last.
      this.kept.delete(key);
      this.kept.set(key, known);
      return known.answer;
    }
    const kept: Kept = { answer: request(), size: 0 };
    this.kept.set(key, kept);
    kept.answer.then(
      ({ stage }) => {
        kept.size = stage.text.length;
        this.makeRoom(key);
      },
      () => this.kept.delete(key),
    );
    return kept.answer;
  }

  private makeRoom(latest: string): void {
    let total = 0;
    for (const { size } of this.kept.values()) total += size;
    for (const [key, { size }] of this.kept) {
      if (total <= this.room) return;
      if (key === latest || size === 0) continue;
      this.kept.delete(key);
      total -= size;
    }
  }
}
