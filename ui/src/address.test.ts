import { describe, expect, it } from "vitest";
import { flag, known, number, oneOf, someOf, text, texts, time } from "./address";

describe("parts of an address", () => {
  it("are read when they fit", () => {
    expect(text("a")).toBe("a");
    expect(text(41)).toBe("41");
    expect(number("4182")).toBe(4182);
    expect(flag("true")).toBe(true);
    expect(oneOf("b", ["a", "b"])).toBe("b");
    expect(someOf(["b", "x", "a"], ["a", "b"])).toEqual(["a", "b"]);
    expect(someOf("b,a", ["a", "b"])).toEqual(["a", "b"]);
    expect(texts(["x", 2])).toEqual(["x", "2"]);
    expect(time("2026-11-16")).toBe("2026-11-16");
  });

  it("count as left out when they do not", () => {
    for (const bad of [undefined, null, "", {}, [], NaN, "not a number"]) expect(number(bad)).toBeUndefined();
    expect(number(1.5)).toBeUndefined();
    expect(number("1e400")).toBeUndefined();
    expect(text({ toString: () => "x" })).toBeUndefined();
    expect(flag("no")).toBeUndefined();
    expect(oneOf("__proto__", ["a"])).toBeUndefined();
    expect(someOf(["x"], ["a"])).toBeUndefined();
    expect(texts("x")).toBeUndefined();
    expect(time("yesterday-ish")).toBeUndefined();
  });

  it("that are left out do not stand in it", () => {
    expect(known({ tab: undefined, row: 4182 })).toEqual({ row: 4182 });
  });

  it("have a bounded length", () => {
    expect(text("x".repeat(5000))?.length).toBe(1000);
    expect(texts(Array.from({ length: 500 }, (_, at) => `c${at}`))?.length).toBe(200);
  });
});
