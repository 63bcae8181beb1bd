import { expect, test } from "vitest";
import { gapOf, points, waterfall } from "./waterfall";

const part = (feature: string, gained: number) => ({ feature, weight: 1, value: 1, points: gained, said: "" });

test("each part begins where the one before ended, and one that takes away goes back", () => {
  const steps = waterfall([part("name", 0.5), part("P569", 0.25), part("P17", 0), part("type limit", -0.25)]);
  expect(steps.map(({ from, to }) => [from, to])).toEqual([
    [0, 0.5],
    [0.5, 0.75],
    [0.75, 0.75],
    [0.5, 0.75],
  ]);
});

test("no bar leaves the picture", () => {
  const [step] = waterfall([part("name", 1.4)]);
  expect(step?.to).toBe(1);
});

test("points have a sign, unless there are none", () => {
  expect([points(0.512), points(-0.2), points(0.001), points(0)]).toEqual(["+0.51", "−0.20", "0", "0"]);
});

test("the gap is told from either side", () => {
  expect(gapOf([0.9, 0.7], 0)).toBe("0.20 ahead of the second");
  expect(gapOf([0.9, 0.7], 1)).toBe("0.20 behind the first");
  expect(gapOf([0.9], 0)).toBe("the only candidate");
});
