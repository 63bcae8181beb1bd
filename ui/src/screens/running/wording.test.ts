import { expect, test } from "vitest";
import { backlogWords, stageName } from "./wording";

test("a backlog has an ETA with its cause", () => {
  expect(backlogWords({ waiting: 10_878, etaSeconds: 2220, endedPerSecond: 4.9, etaCause: "limited by wikidata 5/s" })).toBe(
    "37 min at 4.9/s, limited by wikidata 5/s",
  );
});

test("a backlog that stands still says why, where anybody knows", () => {
  expect(backlogWords({ waiting: 3, etaSeconds: null, endedPerSecond: 0, etaCause: "paused by ann" })).toBe("Nothing moves: paused by ann");
  expect(backlogWords({ waiting: 3, etaSeconds: null, endedPerSecond: 0, etaCause: null })).toBe("Nothing left it in the last minute");
  expect(backlogWords({ waiting: 0, etaSeconds: null, endedPerSecond: 0, etaCause: null })).toBeNull();
});

test("a stage of a pipeline of one is called by the pipeline", () => {
  expect(stageName({ pipeline: "add", stage: "add" })).toBe("add");
  expect(stageName({ pipeline: "sites", stage: "prompt-forming" })).toBe("sites / prompt-forming");
});
