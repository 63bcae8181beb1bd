import { expect, test } from "vitest";
import { marked } from "./marking";

test("sentences that are evidence are set apart, and the text stays whole", () => {
  const text = "We repair bicycles. We fly. Willow Lane is here.";
  const pieces = marked(text, [
    { text: "We repair bicycles.", kind: "supported" },
    { text: "We fly.", kind: "unsupported" },
    { text: "willow lane", kind: "name" },
  ]);
  expect(pieces.map((piece) => piece.text).join("")).toBe(text);
  expect(pieces.filter((piece) => piece.mark).map((piece) => [piece.text, piece.mark?.kind])).toEqual([
    ["We repair bicycles.", "supported"],
    ["We fly.", "unsupported"],
    ["Willow Lane", "name"],
  ]);
});

test("where marks overlap, the longer one counts once", () => {
  const pieces = marked("Willow Lane repairs.", [
    { text: "Willow", kind: "name" },
    { text: "Willow Lane repairs.", kind: "supported" },
  ]);
  expect(pieces).toHaveLength(1);
  expect(pieces[0]?.mark?.kind).toBe("supported");
});

test("every occurrence is marked, empty words none", () => {
  expect(marked("a b a", [{ text: "a", kind: "name" }]).filter((piece) => piece.mark)).toHaveLength(2);
  expect(marked("a", [{ text: " ", kind: "name" }])).toEqual([{ text: "a", mark: null }]);
});

test("letters whose lower case is longer do not move the marks", () => {
  const text = "İİİ Willow Lane";
  expect(marked(text, [{ text: "Willow Lane", kind: "name" }]).at(-1)).toMatchObject({ text: "Willow Lane" });
});

test("a sentence is found under the signs of Markdown and other spaces", () => {
  const pieces = marked("Go to **Willow  Lane**, see [here](https://one.example/a). More.", [{ text: "Go to Willow Lane, see here.", kind: "supported" }]);
  expect(pieces.map((piece) => piece.text)).toEqual(["Go to **Willow  Lane**, see [here](https://one.example/a).", " More."]);
});
