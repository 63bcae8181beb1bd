import { expect, test } from "vitest";
import { inputPairs, resultPairs } from "./reading";

test("the cells of a row are named by the columns of its file", () => {
  expect(inputPairs({ row: 3, cells: ["bolt", "Acme", "extra"] }, ["Name", "Brand"])).toEqual([
    ["Name", "bolt"],
    ["Brand", "Acme"],
    ["Column 3", "extra"],
  ]);
  expect(inputPairs({ left: 1 }, [])).toEqual([["left", 1]]);
  expect(inputPairs(null, [])).toEqual([]);
});

test("a result of columns is read as pairs, anything else whole", () => {
  expect(resultPairs({ columns: { Found: "x" }, normalized: {} })).toEqual([["Found", "x"]]);
  expect(resultPairs({ a: 1 })).toEqual([["a", 1]]);
  expect(resultPairs([1, 2])).toBeNull();
  expect(resultPairs(7)).toBeNull();
});
