import { expect, test } from "vitest";
import { merged, split } from "./list";

const jobs = (...ids: number[]) => ids.map((jobId) => ({ jobId }));

test("jobs that new ones push out of the page stay where they are", () => {
  expect(merged(jobs(3, 2, 1), jobs(5, 4, 3), true)).toEqual(jobs(5, 4, 3, 2, 1));
});

test("a job that was deleted goes, and a list that is all there is taken as it is", () => {
  expect(merged(jobs(3, 2, 1), jobs(3, 1), true)).toEqual(jobs(3, 1));
  expect(merged(jobs(3, 2, 1), jobs(3, 2), false)).toEqual(jobs(3, 2));
  expect(merged(jobs(3, 2, 1), [], true)).toEqual(jobs(3, 2, 1));
});

test("new ones wait above the rows that stand", () => {
  expect(split(jobs(5, 4, 3), 4)).toEqual({ standing: jobs(4, 3), waiting: jobs(5) });
});
