import { expect, test } from "vitest";
import { blocksOf, spansOf } from "./reportText";

test("headings, lists, quotes, tables and plain words are told apart", () => {
  const text = "# Report\n\nSome **strong** words.\n\n- one\n- **two**: 2\n\n> said\n>\n> — [page](https://one.example/)\n\n**Prompts**\n\n| A | B |\n|---|---|\n| 1 | x \\| y |\n";
  const blocks = blocksOf(text);
  expect(blocks.map((block) => block.kind)).toEqual(["heading", "words", "list", "quote", "words", "table"]);
  const table = blocks.at(-1);
  expect(table?.kind === "table" && table.rows[0]?.map((cell) => cell[0]?.text)).toEqual(["1", "x | y"]);
});

test("links keep their address and their words", () => {
  expect(spansOf("See [a \\[b\\]](https://one.example/a%28b%29) now")).toEqual([
    { text: "See " },
    { text: "a [b]", link: "https://one.example/a%28b%29" },
    { text: " now" },
  ]);
});

test("what strangers wrote stays text: signs that are escaped, and entities, are what they were", () => {
  expect(spansOf("&lt;img src=x onerror=alert(1)\\> \\*\\*not strong\\*\\* \\[no](javascript:alert(1)) &amp;lt;")).toEqual([
    { text: "<img src=x onerror=alert(1)> **not strong** [no](javascript:alert(1)) &lt;" },
  ]);
});

test("a number with a dot at the beginning of a line is no list", () => {
  expect(blocksOf("1\\. first")).toEqual([{ kind: "words", line: [{ text: "1. first" }] }]);
});
