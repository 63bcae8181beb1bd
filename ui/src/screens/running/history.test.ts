import { expect, test } from "vitest";
import { bars, rangeOf, type Point } from "./history";

function point(done: number, waiting: number | null = null): Point {
  return {
    at: "2026-11-16T12:00:00Z",
    enqueued: 0,
    done,
    failed: 0,
    endedOtherwise: 0,
    retried: 0,
    waiting,
    running: null,
    oldestWaitSeconds: null,
    waitMeanSeconds: null,
    waitP95Seconds: null,
    runMeanSeconds: null,
    runP95Seconds: null,
  };
}

test("points become a few bars that lose nothing", () => {
  const points = Array.from({ length: 61 }, (_, index) => point(index));
  const made = bars(points, (one) => one.done, "sum", 30);
  expect(made.length).toBeLessThanOrEqual(30);
  expect(made.reduce((sum, one) => sum + one, 0)).toBe((60 * 61) / 2);
});

test("of what stands at a moment the highest is shown", () => {
  expect(bars([point(0, 3), point(0, 9), point(0), point(0, 1)], (one) => one.waiting, "highest", 2)).toEqual([9, 1]);
});

test("an address may say any number, but only known ranges count", () => {
  expect(rangeOf(1440)).toBe(1440);
  expect(rangeOf(7)).toBeUndefined();
  expect(rangeOf(60)).toBeUndefined();
  expect(rangeOf(undefined)).toBeUndefined();
});
