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
