import { expect, test } from "vitest";
import { partsOf } from "./marks";

const shown = (text: string, marks: [number, number][]) =>
  partsOf(text, marks.map(([from, to]) => ({ from, to }))).map((one) => (one.marked ? `[${one.text}]` : one.text));

test("marks cut the passage into parts", () => {
  expect(shown("your money back", [[5, 10], [11, 15]])).toEqual(["your ", "[money]", " ", "[back]"]);
});

test("a character of two halves counts once", () => {
  expect(shown("😀😀 money", [[3, 8]])).toEqual(["😀😀 ", "[money]"]);
});

test("marks that overlap, lie outside or are empty change no character", () => {
  const parts = partsOf("abcdef", [{ from: 4, to: 99 }, { from: 1, to: 3 }, { from: 2, to: 5 }, { from: 3, to: 3 }, { from: 50, to: 60 }]);
  expect(parts.map((one) => one.text).join("")).toBe("abcdef");
});
