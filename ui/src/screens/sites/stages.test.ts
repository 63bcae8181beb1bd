import { expect, test } from "vitest";
import { chipsOf, needsApproval, notAgain } from "./stages";

const site = (state: string, stage: string | null, more: object = {}) => ({ state, stage, why: null, error: null, ...more }) as Parameters<typeof chipsOf>[0];
const states = (of: Parameters<typeof chipsOf>[0]) => chipsOf(of).map((chip) => chip.state);

test("stages behind a site are done, the one it is at has its state, later ones are not yet", () => {
  expect(states(site("PROCESSING", "prompt-forming"))).toEqual(["DONE", "PROCESSING", "NOT_YET"]);
  expect(states(site("PENDING", null))).toEqual(["PENDING", "NOT_YET", "NOT_YET"]);
  expect(states(site("DONE", "model-analysis"))).toEqual(["DONE", "DONE", "DONE"]);
});

test("a failure is shown at the stage where it happened, with its sentence", () => {
  const [first, second] = chipsOf(site("ERROR", "website-analysis", { error: "It answers 404." }));
  expect(first).toMatchObject({ state: "ERROR", about: "It answers 404." });
  expect(second?.state).toBe("NOT_YET");
});

test("a site that waits for a person says so instead of a plain waiting", () => {
  const waiting = site("PENDING", "model-analysis", { why: "its prompts wait for approval; no model is asked before" });
  expect(needsApproval(waiting)).toBe(true);
  expect(chipsOf(waiting)[2]?.word).toBe("Needs approval");
  expect(needsApproval(site("PENDING", "model-analysis", { why: "in the queue" }))).toBe(false);
});

test("what has not ended cannot run again", () => {
  expect(notAgain([])).toContain("No site");
  expect(notAgain([site("PENDING", null)])).toContain("not ended");
  expect(notAgain([site("PENDING", null), site("DONE", "model-analysis")])).toBeNull();
});
