import { expect, test } from "vitest";
import { byUrgency, stepOf, type Attention } from "./attention";

const STAGE = { name: "See the stage", to: "/stages/$pipeline/$stage", params: { pipeline: "shop", stage: "fetch" } };

function found(about: Attention["about"], stage: string | null = "fetch"): Attention {
  return { about, sentence: about, nextStep: "", pipeline: stage && "shop", stage };
}

test("every finding leads to the one screen that shows or ends it", () => {
  expect(stepOf(found("paused"), true)).toEqual(STAGE);
  expect(stepOf(found("workers", null), true)?.to).toBe("/workers");
  expect(stepOf(found("paused", null), true)?.to).toBe("/stages");
});

test("what failed is shown where it is seen: everybody's to admins, the stage to others", () => {
  expect(stepOf(found("failures"), true)).toEqual({ name: "See what failed", to: "/dead-letters", search: { pipeline: "shop", stage: "fetch", everybody: true } });
  expect(stepOf(found("failures"), false)).toEqual(STAGE);
  expect(stepOf(found("messages", null), true)?.to).toBe("/dead-letters");
  expect(stepOf(found("messages", null), false)).toBeNull();
});

test("what stops work stands first", () => {
  expect(byUrgency([found("paused"), found("failures"), found("workers", null)]).map((one) => one.about)).toEqual(["workers", "failures", "paused"]);
});
