import { expect, test } from "vitest";
import { ago, bytes, count, duration, looksAgain, many, percent, rate, sentence, stateWord } from "./wording";

test("numbers have separators, and estimates say so", () => {
  expect(count(48213)).toBe("48,213");
  expect(count(48213, true)).toBe("≈ 48,213");
  expect(count(null)).toBe("–");
  expect(many(1, "row")).toBe("1 row");
  expect(many(2000, "row")).toBe("2,000 rows");
});

test("a share is never rounded to nothing or to all", () => {
  expect(percent(0)).toBe("0 %");
  expect(percent(0.001)).toBe("<1 %");
  expect(percent(0.9999)).toBe("99 %");
  expect(percent(1)).toBe("100 %");
});

test("durations are as coarse as they are long", () => {
  expect(duration(0.0004)).toBe("1 ms");
  expect(duration(0.85)).toBe("850 ms");
  expect(duration(3.2)).toBe("3.2 s");
  expect(duration(41)).toBe("41 s");
  expect(duration(59.7)).toBe("1 min");
  expect(duration(168)).toBe("2 min 48 s");
  expect(duration(2220)).toBe("37 min");
  expect(duration(3599)).toBe("1 h");
  expect(duration(18720)).toBe("5 h 12 min");
  expect(duration(400_000)).toBe("5 days");
  expect(duration(null)).toBe("–");
});

test("slow rates are told per minute", () => {
  expect(rate(4.9)).toBe("4.9/s");
  expect(rate(212.4)).toBe("212/s");
  expect(rate(0.2)).toBe("12/min");
  expect(rate(0)).toBe("0/s");
});

test("what is to come is told as such", () => {
  const now = Date.parse("2026-11-16T12:00:00Z");
  expect(ago("2026-11-16T11:59:19Z", now)).toBe("41 s ago");
  expect(ago("2026-11-16T12:03:00Z", now)).toBe("in 3 min");
  expect(ago("2026-11-16T12:00:00.500Z", now)).toBe("just now");
});

test("sizes and names are for people", () => {
  expect(bytes(999)).toBe("999 B");
  expect(bytes(1_500_000)).toBe("1.5 MB");
  expect(stateWord("PENDING")).toBe("Waiting");
  expect(sentence("needs_review")).toBe("Needs review");
});

test("what was not found says when, and when it is looked for again", () => {
  const item = { updatedAt: "2020-03-01T14:03:00", looksAgainAt: "2020-03-01T14:05:00", attempts: 1 };
  expect(looksAgain(item)).toBe("Looks again at 1 Mar 2020, 14:05:00, as try 2; not found at 1 Mar 2020, 14:03:00");
  expect(looksAgain({ ...item, looksAgainAt: null })).toBeNull();
});
