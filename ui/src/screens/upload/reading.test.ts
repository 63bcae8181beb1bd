import { describe, expect, it } from "vitest";
import { delimiterName, sliceOf, submission } from "./reading";

describe("what is sent of a file", () => {
  it("takes the beginning of a table and the whole of a workbook", () => {
    expect(sliceOf({ name: "a.csv", size: 10 ** 9, type: "text/csv" })).toBe(2 * 1024 * 1024);
    expect(sliceOf({ name: "a.xlsx", size: 5_000_000, type: "" })).toBe(5_000_000);
    expect(sliceOf({ name: "a.zip", size: 10 ** 9, type: "application/zip" })).toBe(2 * 1024 * 1024);
  });

  it("names what was chosen and leaves out what was not", () => {
    const form = submission([new File(["a"], "a.csv")], { pipeline: "catalogue", header: "no", delimiter: "tab" }, {}, " ");
    expect([...form.keys()]).toEqual(["pipeline", "delimiter", "header", "file"]);
    expect(form.get("delimiter")).toBe("\t");
    expect(form.get("header")).toBe("false");
  });

  it("knows delimiters by name", () => {
    expect(delimiterName(";")).toBe("semicolon");
    expect(delimiterName("#")).toBeUndefined();
  });
});
