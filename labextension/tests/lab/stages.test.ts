import { expect, test } from "vitest";
import { Stages } from "../../src/lab/stages";
import type { StageAnswerJson } from "../../src/schema/report";

function answer(text: string): Promise<StageAnswerJson> {
  return Promise.resolve({ stage: { kind: "hlo", text, unavailable: null, anchors: [] } });
}

test("two views of one report ask once", async () => {
  const stages = new Stages();
  let asked = 0;
  const ask = () => {
    asked++;
    return answer("text");
  };
  await Promise.all([stages.get("a", ask), stages.get("a", ask)]);
  expect(asked).toBe(1);
});

test("a failure is not kept", async () => {
  const stages = new Stages();
  await expect(stages.get("a", () => Promise.reject(new Error("gone")))).rejects.toThrow("gone");
  expect((await stages.get("a", () => answer("text"))).stage.text).toBe("text");
});

test("what was used longest ago makes room", async () => {
  const stages = new Stages(10);
  const asked: string[] = [];
  const get = (key: string) =>
    stages.get(key, () => {
      asked.push(key);
      return answer("12345");
    });
  await get("a");
  await get("b");
  await get("a");
  await get("c");
  await get("a");
  await get("b");
  expect(asked).toEqual(["a", "b", "c", "b"]);
});
