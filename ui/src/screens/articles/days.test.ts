import { expect, test } from "vitest";
import { dayEnd, dayStart } from "./days";

test("a day is from its first moment to that of the next one", () => {
  const from = dayStart("2026-12-31");
  const to = dayEnd("2026-12-31");
  expect(from).toBe(new Date(2026, 11, 31).toISOString());
  expect(to).toBe(new Date(2027, 0, 1).toISOString());
});

test("what is no day is left out", () => {
  expect([dayStart(undefined), dayEnd("soon"), dayStart("")]).toEqual([undefined, undefined, undefined]);
});
