import { expect, test } from "vitest";
import { cost, estimate } from "./estimate";

const model = (name: string, mostPerCall: number) => ({ name, model: name, host: null, inputPrice: 0, outputPrice: 0, mostPerCall, ready: true, problem: null });
const models = [model("offline", 0), model("gull", 0.01)];
const options = { models: ["offline", "gull"], pages: 5, samples: 2, prompts: 10, budget: 1 };

test("every chosen model is asked every prompt as often as wanted, and only priced ones cost", () => {
  const found = estimate(options, models, 3);
  expect(found.calls).toBe(40);
  expect(found.perSite).toBeCloseTo(0.2);
  expect(found.total).toBeCloseTo(0.6);
  expect(found.stopped).toBe(false);
});

test("a budget that is too small is told", () => {
  expect(estimate({ ...options, budget: 0.5 }, models, 3).stopped).toBe(true);
  expect(estimate({ ...options, budget: 0, models: ["offline"] }, models, 3).stopped).toBe(false);
});

test("where the number of sites is not known, one is estimated", () => {
  expect(estimate(options, models, null)).toMatchObject({ total: null, stopped: false });
});

test("small costs keep their digits", () => {
  expect([0, 0.00421234, 0.5, 12.5].map(cost)).toEqual(["0", "0.00421", "0.5", "12.50"]);
});
