import { expect, test } from "vitest";
import { begun, current, hungry, next, type Action, type Deed } from "./session";

const deed = (number: number): Deed => ({ number, move: "accept", label: "Ada", batch: null });
const after = (first: number | undefined, ...actions: Action[]) => actions.reduce(next, begun(first));
const FETCHED: Action = { type: "fetched", numbers: [3, 5, 8], more: false };

test("a sitting begins at the first record that waits, or at the one in the address", () => {
  expect(current(begun(undefined))).toBeNull();
  expect(current(after(undefined, FETCHED))).toBe(3);
  expect(after(3, FETCHED).queue).toEqual([3, 5, 8]);
});

test("a decision goes on to the next record at once, and an undo comes back", () => {
  const decided = after(undefined, FETCHED, { type: "decide", deed: deed(3) });
  expect(current(decided)).toBe(5);
  const answered = next(decided, { type: "answered", number: 3, batch: "b" });
  expect(answered.deeds).toEqual([{ ...deed(3), batch: "b" }]);
  const undone = next(answered, { type: "without", number: 3, go: true });
  expect([current(undone), undone.deeds]).toEqual([3, []]);
});

test("a refused decision leaves the reviewer where they are", () => {
  const refused = after(undefined, FETCHED, { type: "decide", deed: deed(3) }, { type: "without", number: 3, go: false });
  expect([current(refused), refused.deeds]).toEqual([5, []]);
});

test("what was skipped can be gone over again, and no longer counts once it is decided", () => {
  const skipped = after(undefined, FETCHED, { type: "skip" }, { type: "skip" }, { type: "skip" });
  expect([current(skipped), skipped.skipped]).toEqual([null, [3, 5, 8]]);
  const again = next(skipped, { type: "skippedAgain" });
  expect([current(again), again.skipped, again.queue]).toEqual([3, [], [3, 5, 8]]);
  const decided = after(undefined, FETCHED, { type: "skip" }, { type: "go", by: -1 }, { type: "decide", deed: deed(3) });
  expect(decided.skipped).toEqual([]);
});

test("a record of an earlier round is looked at before the one on screen", () => {
  const skipped = after(undefined, FETCHED, { type: "decide", deed: deed(3) }, { type: "skip" }, { type: "skip" }, { type: "skippedAgain" });
  const back = next(skipped, { type: "goTo", number: 3 });
  expect([current(back), back.queue]).toEqual([3, [3, 5, 8]]);
});

test("nobody goes beyond either end", () => {
  expect(after(undefined, FETCHED, { type: "go", by: -1 }).at).toBe(0);
  const end = after(undefined, FETCHED, { type: "go", by: 1 }, { type: "go", by: 1 }, { type: "go", by: 1 }, { type: "go", by: 1 });
  expect([end.at, current(end)]).toEqual([3, null]);
});

test("the next page is fetched before the last record is reached", () => {
  const some = after(undefined, { type: "fetched", numbers: [1, 2, 3, 4], more: true });
  expect(hungry(some, 3)).toBe(false);
  expect(hungry(next(some, { type: "go", by: 1 }), 3)).toBe(true);
  expect(hungry(after(undefined, FETCHED), 9)).toBe(false);
});
