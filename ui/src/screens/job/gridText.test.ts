import { expect, test } from "vitest";
import { asLines, cellText, resultText } from "./gridText";

test("a cell is one line of text, whatever was stored", () => {
  expect([cellText(null), cellText("a"), cellText(0), cellText(false), cellText({ a: [1] })]).toEqual(["", "a", "0", "false", '{"a":[1]}']);
});

test("results without columns leave their cells empty", () => {
  expect([resultText({ Price: 3 }, "Price"), resultText([3], "Price"), resultText(null, "Price"), resultText("x", "length")]).toEqual(["3", "", "", ""]);
});

test("copied cells keep to their column and start no formula", () => {
  expect(asLines([["a\tb", "c\nd"], ["=1+1", "-5.20"]])).toBe("a b\tc d\n'=1+1\t-5.20");
  expect(asLines([["@SUM(A1)", "+4930"]])).toBe("'@SUM(A1)\t+4930");
});

test("copied cells are guarded like those of a safe export", () => {
  for (const sign of ["=", "+", "-", "@", "＝", "＋", "－", "＠"]) expect(asLines([[`${sign}A1`, `'${sign}A1`]])).toBe(`'${sign}A1\t''${sign}A1`);
  for (const skipped of ["\t", "\r", "\n"]) expect(asLines([[`${skipped}=A1`]])).toBe("' =A1");
  expect(asLines([["'quoted'", "it's"]])).toBe("'quoted'\tit's");
});

test("a cell that begins with a quote does not swallow the next one", () => {
  expect(asLines([['"a', 'b"', '15" screen']])).toBe('"""a"\tb"\t15" screen');
  expect(asLines([['"=1+1"']])).toBe('"""=1+1"""');
});
