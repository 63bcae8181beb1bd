import { expect, test } from "vitest";
import type { Schemas } from "~/api/client";
import { whyOf, type Stage } from "./standing";

const NOW = Date.parse("2026-11-16T12:00:00Z");

function embedding(more: Partial<Schemas["EmbeddingStatus"]>): Schemas["EmbeddingStatus"] {
  return {
    chip: "waiting",
    status: "pending",
    taskId: 1,
    attempts: 0,
    maxAttempts: 4,
    error: null,
    category: null,
    indexedRevision: null,
    embeddedAt: null,
    nextRunAt: null,
    ...more,
  };
}

function stage(more: Partial<Stage> = {}): Stage {
  return { pausedAt: null, pausedBy: null, pauseReason: null, workers: 1, waiting: 1, etaSeconds: null, endedPerSecond: 0, ...more };
}

test("what is indexed has nothing to wait for", () => {
  expect(whyOf(embedding({ chip: "indexed", status: "completed" }), stage(), NOW)).toBeNull();
});

test("a pause says by whom and why, before anything else", () => {
  const paused = stage({ pausedAt: "2026-11-16T11:00:00Z", pausedBy: "root", pauseReason: "provider down", workers: 0 });
  expect(whyOf(embedding({}), paused, NOW)).toBe("Embedding is paused by root: provider down.");
});

test("without a worker nothing is promised", () => {
  expect(whyOf(embedding({}), stage({ workers: 0 }), NOW)).toBe("No live worker embeds articles.");
});

test("a further try says which, when and after what", () => {
  const again = embedding({ attempts: 1, nextRunAt: "2026-11-16T12:00:03Z", error: "HTTP 503" });
  expect(whyOf(again, stage(), NOW)).toBe("Try 2 of 4 in 3 s after: HTTP 503");
});

test("a queue tells its length and how long it takes", () => {
  expect(whyOf(embedding({}), stage({ waiting: 1200, etaSeconds: 120, endedPerSecond: 10 }), NOW)).toBe("One of 1,200 that wait, 2 min at 10.0/s.");
});

test("a failure is told with its error, also where an older text is found", () => {
  const failed = embedding({ chip: "stale", status: "failed", error: "no key", attempts: 4 });
  expect(whyOf(failed, stage(), NOW)).toBe("no key (4 of 4 tries)");
});
