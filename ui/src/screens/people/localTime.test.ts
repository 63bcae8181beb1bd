import { expect, test } from "vitest";
import { localTime } from "./localTime";

test("a time comes back as it was, to the minute", () => {
  const at = new Date(2026, 0, 5, 4, 3);
  expect(localTime(at.toISOString())).toBe("2026-01-05T04:03");
  expect(new Date(localTime(at.toISOString())).getTime()).toBe(at.getTime());
});

test("what is no time is an empty field", () => {
  expect(localTime("soon")).toBe("");
});
