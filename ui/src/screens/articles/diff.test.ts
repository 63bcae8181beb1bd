import { expect, test } from "vitest";
import { folded, lineDiff, type Line } from "./diff";

function sides(lines: Line[]): [string, string] {
  const of = (kind: Line["kind"]) => lines.filter((one) => one.kind === "same" || one.kind === kind).map((one) => one.text);
  return [of("gone").join("\n"), of("new").join("\n")];
}

test("both texts can be read back from their difference", () => {
  const texts = ["", "a", "a\nb\nc", "b\na\nc\nc", "x\n\n\ny", "a\nb\nc\nd\ne"];
  for (const before of texts) for (const after of texts) expect(sides(lineDiff(before, after))).toEqual([before, after]);
});

test("a changed line is one gone and one new, and the others stay", () => {
  expect(lineDiff("a\nb\nc", "a\nB\nc").map((one) => [one.kind, one.before, one.after])).toEqual([
    ["same", 1, 1],
    ["gone", 2, null],
    ["new", null, 2],
    ["same", 3, 3],
  ]);
});

test("two large texts with nothing in common are told as replaced", () => {
  const many = (word: string) => Array.from({ length: 3000 }, (_, n) => `${word}${n}`).join("\n");
  const found = lineDiff(many("a"), many("b"));
  expect([found.length, found[0]?.kind, found.at(-1)?.kind]).toEqual([6000, "gone", "new"]);
});

test("equal stretches are folded, with a few lines around what changed", () => {
  const before = Array.from({ length: 30 }, (_, n) => String(n));
  const after = before.map((line, n) => (n === 15 ? "changed" : line));
  const hunks = folded(lineDiff(before.join("\n"), after.join("\n")));
  expect(hunks[0]).toEqual({ kind: "skipped", count: 12 });
  expect(hunks.at(-1)).toEqual({ kind: "skipped", count: 11 });
  expect(hunks.filter((one) => one.kind === "same").length).toBe(6);
});

test("equal texts are one fold", () => {
  expect(folded(lineDiff("a\nb", "a\nb"))).toEqual([{ kind: "skipped", count: 2 }]);
});
