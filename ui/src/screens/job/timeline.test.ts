import { expect, test } from "vitest";
import { series } from "./timeline";

const minute = (at: number, done = 1, failed = 0) => ({ minute: new Date(at * 60_000).toISOString(), done, failed });

test("minutes without an ending are zeros, and the ends of the chart as well", () => {
  const found = series([minute(100, 5), minute(103, 2, 1)]);
  expect(found.times.slice(-6)).toEqual([99, 100, 101, 102, 103, 104].map((at) => at * 60));
  expect(found.done.slice(-6)).toEqual([0, 5, 0, 0, 2, 0]);
  expect(found.failed.slice(-6)).toEqual([0, 0, 0, 0, 1, 0]);
  expect(found.times.length).toBe(22);
  expect(found.done.reduce((a, b) => a + b)).toBe(7);
});

test("a long time is put together, and nothing is lost", () => {
  const found = series([minute(0, 5), minute(7199, 2, 1)]);
  expect(found.minutes).toBe(10);
  expect(found.times.length).toBeLessThan(730);
  expect(found.done.reduce((a, b) => a + b)).toBe(7);
  expect(found.failed.reduce((a, b) => a + b)).toBe(1);
});

test("nothing is an empty chart", () => {
  expect(series([]).times).toEqual([]);
});
