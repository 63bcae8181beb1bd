import { expect, test } from "vitest";
import { copyOf, lastTry } from "./tries";

test("the last try is the one that ended the item, or that runs now", () => {
  expect(lastTry({ status: "ERROR", attempts: 3, error: { type: "HTTPError" } })).toBe("Failed · try 3");
  expect(lastTry({ status: "PROCESSING", attempts: 1, error: null })).toBe("Running · try 2");
  expect(lastTry({ status: "CANCELLED", attempts: 0, error: null })).toBe("Cancelled");
  expect(lastTry({ status: "PENDING", attempts: 1, error: null })).toBeNull();
});

test("what was edited ended with its copy, which only Penstock can say", () => {
  const edited = { status: "SKIPPED", attempts: 3, error: { type: "Replaced", task_id: 7 } };
  expect(copyOf(edited)).toBe(7);
  expect(lastTry(edited)).toBeNull();
  expect(copyOf({ ...edited, status: "ERROR" })).toBeNull();
});
