import { expect, test, vi } from "vitest";
import { TextAbsent } from "../../src/host";
import { Gate } from "../../src/lab/gate";

test("a kernel that does not know jaxscope is asked once for all saved reports", async () => {
  const gate = new Gate();
  const ask = vi.fn(() => Promise.reject(new TextAbsent("forgotten")));
  const all = [1, 2, 3].map(() => gate.pass("kernel", ask).catch(() => "none"));
  expect(await Promise.all(all)).toEqual(["none", "none", "none"]);
  expect(ask).toHaveBeenCalledTimes(1);
});

test("a kernel that answers, if with a refusal, is asked about each", async () => {
  const gate = new Gate();
  const ask = vi.fn(() => Promise.reject(new TextAbsent("forgotten", "It never had this report.")));
  await Promise.all([1, 2, 3].map(() => gate.pass("kernel", ask).catch(() => null)));
  expect(ask).toHaveBeenCalledTimes(3);
  expect(await gate.pass("other", async () => 7)).toBe(7);
});
