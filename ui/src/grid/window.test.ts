import { expect, test } from "vitest";
import { append, nothing, patched, prepend, rowsOf, type Loaded, type Window } from "./window";

type Row = { id: number; word?: string };
const idOf = (row: Row) => row.id;
const MOST = 30;

function page(from: number, to: number): Loaded<Row> {
  const rows = Array.from({ length: to - from }, (_, n) => ({ id: from + n }));
  return { rows, start: `c${from}`, end: `c${to - 1}` };
}

function ids(window: Window<Row>): number[] {
  return rowsOf(window).map(idOf);
}

test("a window that goes down and up again shows every row once and never holds more than it may", () => {
  let window = nothing<Row>();
  for (let at = 0; at < 100; at += 10) {
    window = append(window, page(at, at + 10), at === 90, idOf, MOST);
    expect(ids(window).length).toBeLessThan(MOST + 10);
  }
  expect(ids(window)).toEqual(page(70, 100).rows.map(idOf));
  expect([window.first, window.last]).toEqual([false, true]);
  for (let at = 60; at >= 0; at -= 10) window = prepend(window, page(at, at + 10), at === 0, idOf, MOST);
  expect(ids(window)).toEqual(page(0, 30).rows.map(idOf));
  expect([window.first, window.last]).toEqual([true, false]);
});

test("the cursors at both ends are those of the rows at both ends", () => {
  let window = nothing<Row>();
  for (let at = 0; at < 60; at += 10) window = append(window, page(at, at + 10), false, idOf, MOST);
  expect(window.pages[0]?.start).toBe("c30");
  expect(window.pages.at(-1)?.end).toBe("c59");
});

test("a row that moved into a later page is not shown twice", () => {
  let window = append(nothing<Row>(), page(0, 10), false, idOf, MOST);
  window = append(window, { rows: [{ id: 3 }, { id: 10 }], start: "c", end: "d" }, false, idOf, MOST);
  expect(ids(window)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
});

test("a page of known rows only moves the cursor on", () => {
  let window = append(nothing<Row>(), page(0, 10), false, idOf, MOST);
  window = append(window, { ...page(0, 10), end: "further" }, false, idOf, MOST);
  expect(window.pages.at(-1)?.end).toBe("further");
  expect(ids(window).length).toBe(10);
});

test("patches change cells and never the order", () => {
  const window = append(nothing<Row>(), page(0, 10), true, idOf, MOST);
  const after = patched(window, [{ id: 7, word: "new" }, { id: 99 }], idOf);
  expect(ids(after)).toEqual(ids(window));
  expect(rowsOf(after)[7]).toEqual({ id: 7, word: "new" });
  expect(patched(window, [{ id: 99 }], idOf)).toBe(window);
});

test("an edited copy takes the place of its row", () => {
  const window = append(nothing<Row>(), page(0, 3), true, idOf, MOST);
  expect(ids(patched(window, [{ id: 99 }], idOf, [1]))).toEqual([0, 99, 2]);
});
