import { QueryClient } from "@tanstack/react-query";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { LiveEvent } from "./events";
import { Refresher } from "./refresher";

const STAGE: LiveEvent = { kind: "stage", stage: "shop", moves: { done: 1 } };

let fetched: string[];
let refresher: Refresher;

beforeEach(() => {
  vi.useFakeTimers();
  fetched = [];
  const queries = new QueryClient();
  vi.spyOn(queries, "invalidateQueries").mockImplementation((filters) => {
    fetched.push(JSON.stringify(filters?.queryKey));
    return Promise.resolve();
  });
  refresher = new Refresher(queries, () => Date.now());
});

afterEach(() => {
  refresher.stop();
  vi.useRealTimers();
});

test("a lone change is fetched at once", () => {
  refresher.hear(STAGE);
  vi.advanceTimersByTime(1);
  expect(fetched).toEqual(['["stages"]', '["overview"]', '["workers"]']);
});

test("sums are fetched at most once a second under load, and once more after it", () => {
  for (let passed = 0; passed < 10_100; passed += 70) {
    refresher.hear(STAGE);
    vi.advanceTimersByTime(70);
  }
  const during = fetched.filter((key) => key === '["overview"]').length;
  expect(during).toBeGreaterThanOrEqual(10);
  expect(during).toBeLessThanOrEqual(11);
  vi.advanceTimersByTime(1000);
  expect(fetched.filter((key) => key === '["overview"]').length).toBe(during + 1);
  vi.advanceTimersByTime(10_000);
  expect(fetched.filter((key) => key === '["overview"]').length).toBe(during + 1);
});

test("a job is fetched sooner than the sums that it is part of", () => {
  const job: LiveEvent = { kind: "job", jobId: 7, owner: "ann" };
  refresher.hear(job);
  vi.advanceTimersByTime(1);
  refresher.hear(job);
  vi.advanceTimersByTime(200);
  expect(fetched.filter((key) => key === '["job",7]').length).toBe(2);
  expect(fetched.filter((key) => key === '["overview"]').length).toBe(1);
});

test("a reset fetches everything", () => {
  refresher.hear({ kind: "reset", reason: "the database was away" });
  vi.advanceTimersByTime(1);
  expect(fetched).toEqual(["[]"]);
});

test("beats fetch nothing", () => {
  refresher.hear({ kind: "beat" });
  vi.advanceTimersByTime(5000);
  expect(fetched).toEqual([]);
});
