import { expect, test } from "vitest";
import { columnOrder } from "./columnOrder";

const columns = ["row", "status", "in:EAN", "result", "error", "why", "updated"].map((id) => ({ id }));
const ids = (filter: Parameters<typeof columnOrder>[1], some = columns) => columnOrder(some, filter).map(({ id }) => id);

test("without a filter columns stay as they are", () => {
  expect(columnOrder(columns, {})).toEqual(columns);
  expect(columnOrder(columns, { status: ["DONE"] })).toEqual(columns);
});

test("what was asked for comes right behind the status", () => {
  expect(ids({ status: ["ERROR"] })).toEqual(["row", "status", "error", "in:EAN", "result", "why", "updated"]);
  expect(ids({ group: "0123" })).toEqual(["row", "status", "error", "in:EAN", "result", "why", "updated"]);
  expect(ids({ status: ["PENDING"] })).toEqual(["row", "status", "why", "in:EAN", "result", "error", "updated"]);
});

test("a column that is hidden stays hidden", () => {
  expect(ids({ status: ["ERROR"] }, columns.slice(0, 3))).toEqual(["row", "status", "in:EAN"]);
});
