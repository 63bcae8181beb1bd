import { expect, test } from "vitest";
import { verdictOf } from "./verdict";

const evidence = [{ sentence: "We repair.", page: "http://one.example/", similarity: 0.8 }];
const answer = (text: string | null, found = false) => ({ text, problem: text === null ? "Timed out." : null, evidence: found ? evidence : [] });
const cell = (value: number | null, count: number, more: object = {}) => ({ named: { value, low: 0, high: 1, count }, positions: [], others: {}, failed: 0, claims: [], ...more });

test("the offline model says what stands on the site, never that somebody is named", () => {
  expect(verdictOf("offline", [answer("We repair.", true)], cell(1, 1), false)).toMatchObject({ tone: "good", word: "On the site" });
  expect(verdictOf("offline", [answer("The site does not answer this.")], undefined, false)).toMatchObject({ tone: "bad", word: "Not on the site" });
});

test("a model names the business or does not, over all samples", () => {
  const named = cell(2 / 3, 3, { positions: [2, 1], others: { A: 1, B: 2 } });
  expect(verdictOf("gull", [answer("x"), answer("y"), answer("z")], named, false)).toEqual({ tone: "good", word: "Named 2 of 3", more: "place 1 · 2 others" });
  expect(verdictOf("gull", [answer("x")], cell(0, 1), false)).toMatchObject({ tone: "bad", word: "Not named" });
});

test("what failed, what was not asked and what does not count are told apart", () => {
  expect(verdictOf("gull", [answer(null)], cell(null, 0), false).word).toBe("No answer");
  expect(verdictOf("gull", [], undefined, true).word).toBe("Not yet");
  expect(verdictOf("gull", [], undefined, false).word).toBe("Not asked");
  expect(verdictOf("gull", [answer("x")], cell(null, 0), false).word).toBe("Answered");
});
