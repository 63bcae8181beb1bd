import { expect, test } from "vitest";
import { opensIn, rateWords } from "./limitWords";

test("a rate is read in the unit that it was meant in", () => {
  expect(rateWords(5)).toBe("5/s");
  expect(rateWords(0.5)).toBe("30/min");
  expect(rateWords(1 / 3600)).toBe("1/h");
  expect(rateWords(1 / 86400)).toBe("1/day");
  expect(rateWords(null)).toBe("no rate");
});

test("a closed key counts down from when it was told, and ends at nothing", () => {
  expect(opensIn(3.2, 1000, 2000)).toBeCloseTo(2.2);
  expect(opensIn(3.2, 1000, 9000)).toBe(0);
  // A clock that was set back must not make it longer.
  expect(opensIn(3.2, 5000, 1000)).toBe(3.2);
});
