import { expect, test } from "vitest";
import { byUrgency, stepOf, type Attention } from "./attention";

function found(about: Attention["about"], stage: string | null = "fetch"): Attention {
  return { about, sentence: about, nextStep: "", pipeline: stage && "shop", stage };
}

test("every finding leads to the one screen that shows or ends it", () => {
  expect(stepOf(found("paused"))).toEqual({ name: "See the stage", to: "/stages/$pipeline/$stage", params: { pipeline: "shop", stage: "fetch" } });
  expect(stepOf(found("failures")).to).toBe("/errors");
  expect(stepOf(found("workers", null)).to).toBe("/workers");
  expect(stepOf(found("paused", null)).to).toBe("/stages");
});

test("what stops work stands first", () => {
  expect(byUrgency([found("paused"), found("failures"), found("workers", null)]).map((one) => one.about)).toEqual(["workers", "failures", "paused"]);
});
