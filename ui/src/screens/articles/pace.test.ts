import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Pace } from "./pace";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test("a lone change is followed at once, many at most once per interval", async () => {
  const work = vi.fn(() => Promise.resolve());
  const pace = new Pace(work, 400);
  for (let n = 0; n < 5; n += 1) pace.ask();
  await vi.advanceTimersByTimeAsync(0);
  expect(work).toHaveBeenCalledTimes(1);
  for (let n = 0; n < 5; n += 1) pace.ask();
  await vi.advanceTimersByTimeAsync(399);
  expect(work).toHaveBeenCalledTimes(1);
  await vi.advanceTimersByTimeAsync(1);
  expect(work).toHaveBeenCalledTimes(2);
});

test("what happens during a run is followed by another one, also after a failure", async () => {
  const ends: (() => void)[] = [];
  const work = vi.fn(() => new Promise((_, refuse) => ends.push(() => refuse(new Error("away")))));
  const pace = new Pace(work, 100);
  pace.ask();
  await vi.advanceTimersByTimeAsync(0);
  pace.ask();
  await vi.advanceTimersByTimeAsync(1000);
  expect(work).toHaveBeenCalledTimes(1);
  ends[0]?.();
  await vi.advanceTimersByTimeAsync(0);
  expect(work).toHaveBeenCalledTimes(2);
});

test("nothing is done after the end", async () => {
  const work = vi.fn(() => Promise.resolve());
  const pace = new Pace(work, 100);
  pace.ask();
  pace.stop();
  await vi.advanceTimersByTimeAsync(500);
  expect(work).not.toHaveBeenCalled();
});
