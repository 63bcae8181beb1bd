import { describe, expect, it } from "vitest";
import { given } from "./roles";

const columns = [
  { name: "Name", role: "title" },
  { name: "No.", role: null },
];

describe("roles of columns", () => {
  it("moves a role from one column to another", () => {
    expect(given(columns, "No.", "title", ["title", "sku"])).toEqual({ title: "No.", sku: null });
  });

  it("gives a column one role at a time", () => {
    expect(given(columns, "Name", "sku", ["title", "sku"])).toEqual({ title: null, sku: "Name" });
  });

  it("takes a role away", () => {
    expect(given(columns, "Name", null, ["title", "sku"])).toEqual({ title: null, sku: null });
  });
});
