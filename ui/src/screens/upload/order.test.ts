import { describe, expect, it } from "vitest";
import { moved, toggled } from "./order";

describe("an order that people change", () => {
  it("moves one past its neighbour and no further than the ends", () => {
    expect(moved(["a", "b", "c"], "b", -1)).toEqual(["b", "a", "c"]);
    expect(moved(["a", "b", "c"], "b", 1)).toEqual(["a", "c", "b"]);
    expect(moved(["a", "b"], "a", -1)).toEqual(["a", "b"]);
  });

  it("adds at the end and never takes the last one away", () => {
    expect(toggled(["a"], "b")).toEqual(["a", "b"]);
    expect(toggled(["a", "b"], "a")).toEqual(["b"]);
    expect(toggled(["a"], "a")).toEqual(["a"]);
  });
});
