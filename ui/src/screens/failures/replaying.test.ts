import { expect, test } from "vitest";
import type { Schemas } from "~/api/client";
import { asked, found, outcome } from "./replaying";

const done: Schemas["Replayed"] = { matched: 3, replayed: 3, dryRun: false, nextCursor: null, stopped: false, failedAgain: 0, canary: null };

test("a rate that one request cannot keep up takes fewer at a time", () => {
  expect(asked({ group: "0123456789abcdef", userId: "me" }, { canary: true, perSecond: 2, most: 5000 })).toMatchObject({ most: 120, perSecond: 2, canary: true });
  expect(asked({ userId: "me" }, { canary: false, perSecond: null, most: 5000 })).not.toHaveProperty("perSecond");
});

test("a dry run says when there may be more", () => {
  expect(found({ ...done, matched: 1 })).toBe("1 item");
  expect(found({ ...done, matched: 5000, nextCursor: "x" })).toBe("5,000 items or more");
});

test("the outcome tells what stopped it, and what was left", () => {
  expect(outcome(done)).toEqual({ good: true, sentence: "3 items run again." });
  const canary = { itemId: 7, state: "ERROR", sameError: true };
  expect(outcome({ ...done, stopped: true, replayed: 1, canary }).sentence).toContain("item 7, failed again with the same error");
  expect(outcome({ ...done, stopped: true, canary: { ...canary, state: null } }).sentence).toContain("had not ended in time");
  expect(outcome({ ...done, stopped: true, failedAgain: 10 }).sentence).toContain("Stopped after 10 items");
  expect(outcome({ ...done, replayed: 0 }).good).toBe(false);
  expect(outcome({ ...done, nextCursor: "x" }).sentence).toContain("There are more");
});
