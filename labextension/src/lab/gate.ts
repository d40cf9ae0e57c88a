/** Questions to a kernel that may not know jaxscope, which logs each of them: one at a time until it
 *  has answered, and none of those that waited where it does not. */

import { TextAbsent } from "../host";

export class Gate {
  private readonly first = new Map<string, Promise<boolean>>();

  /** The answer of `ask`; rejects where the kernel did not know an earlier one that is under way. */
  async pass<T>(kernel: string, ask: () => Promise<T>): Promise<T> {
    const before = this.first.get(kernel);
    if (before) {
      if (await before) return ask();
      throw new TextAbsent("forgotten");
    }
    const asked = ask();
    const known = asked.then(
      () => true,
      (error) => error instanceof TextAbsent && error.message !== "",
    );
    this.first.set(kernel, known);
    void known.then(() => this.first.delete(kernel));
    return asked;
  }
}
