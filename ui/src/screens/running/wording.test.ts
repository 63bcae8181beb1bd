import { expect, test } from "vitest";
import { backlogWords, inOrder, stageName, type Stage } from "./wording";

test("a backlog has an ETA with its cause", () => {
  expect(backlogWords({ waiting: 10_878, etaSeconds: 2220, endedPerSecond: 4.9, etaCause: "limited by wikidata 5/s" })).toBe(
    "37 min at 4.9/s, limited by wikidata 5/s",
  );
});

test("a backlog that stands still says why, where anybody knows", () => {
  expect(backlogWords({ waiting: 3, etaSeconds: null, endedPerSecond: 0, etaCause: "paused by ann" })).toBe("Paused by ann");
  expect(backlogWords({ waiting: 3, etaSeconds: null, endedPerSecond: 0, etaCause: null })).toBe("Nothing left it in the last minute");
  expect(backlogWords({ waiting: 0, etaSeconds: null, endedPerSecond: 0, etaCause: null })).toBeNull();
});

test("a stage of a pipeline of one is called by the pipeline", () => {
  expect(stageName({ pipeline: "add", stage: "add" })).toBe("add");
  expect(stageName({ pipeline: "sites", stage: "prompt-forming" })).toBe("sites / prompt-forming");
});

test("stages with work, trouble or a decision come first", () => {
  const idle = { waiting: 0, running: 0, failedLastHour: 0, pausedAt: null, endedPerSecond: 0 };
  const stage = (pipeline: string, told: Partial<Stage> = {}) => ({ ...idle, pipeline, stage: pipeline, ...told }) as Stage;
  const all = [
    stage("zebra"),
    stage("add"),
    stage("runs", { running: 1 }),
    stage("fails", { failedLastHour: 2 }),
    stage("waits", { waiting: 3 }),
    stage("paused", { pausedAt: "2026-11-16T12:00:00Z" }),
  ];
  expect(inOrder(all).map((one) => one.pipeline)).toEqual(["fails", "paused", "runs", "waits", "add", "zebra"]);
});

test("a stage stays where somebody saw it, whatever became of it, and a new one comes last", () => {
  const stage = (pipeline: string, waiting: number) => ({ waiting, running: 0, failedLastHour: 0, pausedAt: null, endedPerSecond: 0, pipeline, stage: pipeline }) as Stage;
  const now = [stage("add", 1), stage("busy", 1), stage("zebra", 0)];
  expect(inOrder(now, ["zebra", "gone", "add"]).map((one) => one.pipeline)).toEqual(["zebra", "add", "busy"]);
});
