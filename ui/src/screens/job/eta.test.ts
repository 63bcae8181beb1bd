import { expect, test } from "vitest";
import { etaSentence, paceWords } from "./eta";

const job = { queueState: "RUNNING", perSecond: 4.9, etaSeconds: 2220, etaCause: null, totalItems: 10_000, nextDueAt: null };

test("the time that is left comes with its pace and its cause", () => {
  expect(etaSentence(job)).toBe("37 min at 4.9/s");
  expect(etaSentence({ ...job, etaCause: "limited by wikidata 5/s" })).toBe("37 min at 4.9/s, limited by wikidata 5/s");
});

test("what stands still says why", () => {
  expect(etaSentence({ ...job, queueState: "PAUSED", etaSeconds: null, etaCause: "paused by ann: lunch" })).toBe("Paused by ann: lunch");
  expect(etaSentence({ ...job, etaSeconds: null, etaCause: "try 2 of 3 in 9 min" })).toBe("Try 2 of 3 in 9 min");
  expect(etaSentence({ ...job, etaSeconds: null })).toContain("no telling");
  expect(etaSentence({ ...job, etaSeconds: null, totalItems: 0 })).toBe("No items yet");
});

test("what has ended takes no time", () => {
  expect(etaSentence({ ...job, queueState: "DONE" })).toBeNull();
});

test("the pace is told once, and not of what is due later", () => {
  expect(paceWords({ ...job, etaSeconds: null })).toBe("4.9/s");
  expect(paceWords(job)).toBeNull();
  expect(paceWords({ ...job, etaSeconds: null, nextDueAt: "2026-11-16T12:00:00Z" })).toBeNull();
  expect(paceWords({ ...job, etaSeconds: null, queueState: "DONE" })).toBeNull();
});
