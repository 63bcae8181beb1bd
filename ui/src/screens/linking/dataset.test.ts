import { expect, test } from "vitest";
import { lookOf } from "./dataset";

const MB = 1024 * 1024;

test("the beginning of a large table is enough for a look", () => {
  expect(lookOf({ name: "people.csv", size: 300 * MB })).toBe(MB);
  expect(lookOf({ name: "people.csv", size: 300 })).toBe(300);
});

test("what is read whole is looked at up to a size", () => {
  expect([lookOf({ name: "people.json", size: 4 * MB }), lookOf({ name: "people.json", size: 4 * MB + 1 })]).toEqual([4 * MB, null]);
  expect([lookOf({ name: "p.XLSX", size: 20 * MB }), lookOf({ name: "p.xlsx", size: 40 * MB })]).toEqual([20 * MB, null]);
});
