import { expect, test } from "vitest";
import { partsOf } from "./marks";

const shown = (text: string, marks: [number, number][]) =>
  partsOf(text, marks.map(([from, to]) => ({ from, to }))).map((one) => (one.marked ? `[${one.text}]` : one.text));

/** Every place where the word stands, as the service tells it. */
function marked(text: string, word: string): string {
  const marks = [...text.matchAll(new RegExp(word, "g"))].map((found): [number, number] => [found.index, found.index + word.length]);
  return shown(text, marks).join("");
}

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

test("signs of Markdown are read and not shown, and the marks stay where they were", () => {
  const text = "## Worn chain\n\nA **chain** is [replaced](/chains) at [the shop](https://shop.example/chain).\n\n- oil the `chain`\n- a chain\n\n> a chain said\n\n| chain | price |\n|---|---|\n| new chain | 20 |";
  expect(marked(text, "chain")).toBe(
    "Worn [chain] A [chain] is replaced at the shop. • oil the [chain] • a [chain] a [chain] said [chain] price new [chain] 20 ",
  );
});

test("headings and bold words are strong", () => {
  expect(partsOf("# Head\n\na **b**", []).filter((one) => one.strong).map((one) => one.text)).toEqual(["Head", "b"]);
});

test("characters of a text that carry marks here are spaces", () => {
  expect(shown("a\uE000b", [[2, 3]])).toEqual(["a ", "[b]"]);
});
