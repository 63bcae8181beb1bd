import { expect, test } from "vitest";
import { leftEdges } from "./leftEdges";

const stays = (width: number) => ({ width, stays: true });

test("columns that stay stand beside each other, behind the boxes", () => {
  expect(leftEdges([stays(80), stays(130), { width: 180 }], 40)).toEqual([40, 120]);
});

test("nothing stays behind a column that scrolls", () => {
  expect(leftEdges([{ width: 180 }, stays(130)], 40)).toEqual([]);
});
