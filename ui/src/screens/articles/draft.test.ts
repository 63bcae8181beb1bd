import { expect, test } from "vitest";
import { Problem } from "~/api/client";
import { currentOf, draftOf, EMPTY, isNewer, isUnsaved, type Base } from "./draft";

const base: Base = { title: "Lamps", content: "Light.", visibility: "private", revision: 3, updatedAt: "2026-11-16T00:00:00Z" };

test("a draft of a stored text has nothing to lose", () => {
  expect(isUnsaved(draftOf(base), base)).toBe(false);
  expect(isUnsaved({ ...draftOf(base), priority: "high", skipEmbedding: true }, base)).toBe(false);
});

test("a changed title, text, visibility or message would be lost", () => {
  for (const change of [{ title: "Lamp" }, { content: "" }, { visibility: "shared" as const }, { message: "why" }])
    expect(isUnsaved({ ...draftOf(base), ...change }, base)).toBe(true);
});

test("a new article is unsaved once something is written", () => {
  expect(isUnsaved(EMPTY, null)).toBe(false);
  expect(isUnsaved({ ...EMPTY, content: "x" }, null)).toBe(true);
});

test("a later save is newer, also one that only changed who sees it", () => {
  expect(isNewer({ ...base, updatedAt: "2026-11-16T00:00:00.100+00:00" }, base)).toBe(true);
  expect(isNewer(base, base)).toBe(false);
});

test("only a 409 with the newer text is a conflict", () => {
  const current = { revision: 4, title: "Lamps", content: "Dark.", author: "bob", updatedAt: "2026-11-16T00:00:00Z" };
  expect(currentOf(new Problem(409, { current }))).toEqual(current);
  expect(currentOf(new Problem(409, {}))).toBeNull();
  expect(currentOf(new Problem(400, { current }))).toBeNull();
});
