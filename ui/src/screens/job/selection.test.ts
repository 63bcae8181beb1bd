import { expect, test } from "vitest";
import { countOf, EVERYTHING, isEmpty, isPicked, NOTHING, toggled } from "./selection";

const rows = [1, 2, 3, 4, 5];

test("rows are picked and let go one by one", () => {
  const one = toggled(NOTHING, 3, rows);
  expect([isPicked(one, 3), isPicked(one, 2), countOf(one, 99)]).toEqual([true, false, 1]);
  expect(isEmpty(toggled(one, 3, rows))).toBe(true);
});

test("with shift everything in between follows, in either direction", () => {
  const down = toggled(toggled(NOTHING, 2, rows), 4, rows, 2);
  expect([...down.ids].sort()).toEqual([2, 3, 4]);
  const up = toggled(toggled(NOTHING, 4, rows), 2, rows, 4);
  expect([...up.ids].sort()).toEqual([2, 3, 4]);
});

test("a range whose other end has left the window concerns the row alone", () => {
  expect([...toggled(NOTHING, 4, rows, 77).ids]).toEqual([4]);
});

test("of all that match some are left out, and the count says so", () => {
  const some = toggled(EVERYTHING, 2, rows);
  expect([isPicked(some, 2), isPicked(some, 1), isPicked(some, 777)]).toEqual([false, true, true]);
  expect(countOf(some, 48_213)).toBe(48_212);
  expect(countOf(some, null)).toBeNull();
  expect(isPicked(toggled(some, 2, rows), 2)).toBe(true);
});
