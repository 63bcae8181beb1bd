import { expect, test } from "vitest";
import { stood } from "./standing";

const jobs = (...ids: number[]) => ids.map((jobId) => ({ jobId }));
const idOf = (job: { jobId: number }) => job.jobId;

test("jobs that new ones push out of the page stay where they are, and the new ones wait", () => {
  expect(stood(jobs(3, 2, 1), jobs(5, 4, 3), true, idOf)).toEqual({ rows: jobs(3, 2, 1), waiting: 2 });
  expect(stood(jobs(3, 2, 1), jobs(9, 8, 7), true, idOf)).toEqual({ rows: jobs(3, 2, 1), waiting: 3 });
});

test("a job that was deleted goes, and a list that is all there is loses what it lacks", () => {
  expect(stood(jobs(3, 2, 1), jobs(3, 1), true, idOf).rows).toEqual(jobs(3, 1));
  expect(stood(jobs(3, 2, 1), jobs(3, 2), false, idOf).rows).toEqual(jobs(3, 2));
  expect(stood(jobs(3, 2, 1), [], false, idOf).rows).toEqual([]);
});

test("older ones are appended, also while new ones wait", () => {
  expect(stood(jobs(3, 2), jobs(4, 3, 2, 1, 0), true, idOf)).toEqual({ rows: jobs(3, 2, 1, 0), waiting: 1 });
});

test("known rows change where they stand, though the order of the list is another now", () => {
  const row = (jobId: number, word: string) => ({ jobId, word });
  const { rows, waiting } = stood([row(1, "a"), row(2, "b")], [row(2, "changed"), row(1, "a")], false, idOf);
  expect([rows, waiting]).toEqual([[row(1, "a"), row(2, "changed")], 0]);
});

test("what comes into an empty list is shown at once", () => {
  expect(stood([], jobs(1), true, idOf)).toEqual({ rows: jobs(1), waiting: 0 });
});
