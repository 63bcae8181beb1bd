import { expect, test } from "vitest";
import { blocksOf, inlineOf, type Inline } from "./markdown";
import { webAddress } from "./webAddress";

// In two parts, as in webAddress.test.ts.
const WEB = "https:" + "//";
const PLAIN = "http:" + "//";

function bare(parts: Inline[]): string {
  return parts.map((one) => ("inside" in one ? bare(one.inside) : one.text)).join("");
}

test("headings, paragraphs, rules, quotes and code are told apart", () => {
  const kinds = blocksOf("# One\n\ntext\nmore\n\n> said\n\n---\n\n```\n# no heading\n```\n").map((one) => one.kind);
  expect(kinds).toEqual(["heading", "paragraph", "quote", "rule", "code"]);
});

test("lists nest, and numbered ones keep their first number", () => {
  const [list] = blocksOf("3. three\n4. four\n   - inner\n   - other");
  expect(list).toMatchObject({ kind: "list", ordered: true, start: 3 });
  if (list?.kind !== "list") throw new Error("no list");
  expect(list.items.length).toBe(2);
  expect(list.items[1]?.map((one) => one.kind)).toEqual(["paragraph", "list"]);
});

test("emphasis, code and links are read, and what is escaped stays as written", () => {
  const found = inlineOf(`a **bold *and* it** \`x*y*\` [here](${WEB}example.com/a) \\*no\\*`);
  expect(found.map((one) => one.kind)).toEqual(["text", "strong", "text", "code", "text", "link", "text"]);
  expect(bare(found)).toContain("*no*");
});

test("underscores within words are no emphasis", () => {
  expect(inlineOf("snake_case_name").map((one) => one.kind)).toEqual(["text"]);
  expect(inlineOf("an _important_ word").map((one) => one.kind)).toEqual(["text", "em", "text"]);
});

test("only http and https are addresses", () => {
  for (const address of ["javascript:alert(1)", "JaVaScRiPt:alert(1)", "data:text/html,x", "vbscript:x", "//example.com", "/here", "mailto:a@b.c", WEB, "java\tscript:x"])
    expect(webAddress(address)).toBeNull();
  expect(webAddress(`${WEB}example.com/a?b=c`)).toBe(`${WEB}example.com/a?b=c`);
});

test("a link to anything else is shown as it was written", () => {
  const found = inlineOf("[press](javascript:alert) and [x](data:text/html,y)");
  expect(found.map((one) => (one.kind === "link" ? [one.href, one.written] : bare([one])))).toEqual([
    [null, "[press](javascript:alert)"],
    " and ",
    [null, "[x](data:text/html,y)"],
  ]);
});

test("markup is text", () => {
  const text = '<img src=x onerror=alert(1)> "><script>alert(1)</script>';
  expect(blocksOf(text)).toEqual([{ kind: "paragraph", inside: [{ kind: "text", text }] }]);
});

test("what only looks like Markdown is shown character by character", () => {
  for (const text of ["a * b * c", "2 * 3 ** 4 ~ 5", "[open", "`tick", "under_ score _"]) expect(inlineOf(text).map((one) => one.kind)).toEqual(["text"]);
  expect(bare(inlineOf("2 * 3 ** 4 ~ 5"))).toBe("2 * 3 ** 4 ~ 5");
});

test("a bare address ends before the full stop", () => {
  expect(inlineOf(`See ${WEB}example.com/a.`).map((one) => ("inside" in one ? bare(one.inside) : one.text))).toEqual(["See ", `${WEB}example.com/a`, "."]);
});

test("a heading is told without its closing signs", () => {
  for (const line of ["# One", "#  One  ", "# One #", "# One ##  "]) expect(blocksOf(line)).toEqual([{ kind: "heading", level: 1, inside: [{ kind: "text", text: "One" }] }]);
  expect(blocksOf("# C# and more")).toMatchObject([{ inside: [{ text: "C# and more" }] }]);
  expect(blocksOf("#none")[0]?.kind).toBe("paragraph");
});

test("a table has a line below its head, and its cells may hold a stroke", () => {
  const [table, rest] = blocksOf("| A | **B** |\n|---|:-:|\n| 1 | x \\| y |\n| alone |\n\nafter");
  if (table?.kind !== "table") throw new Error("no table");
  expect(table.head.map(bare)).toEqual(["A", "B"]);
  expect(table.rows.map((row) => row.map(bare))).toEqual([["1", "x | y"], ["alone"]]);
  expect(rest?.kind).toBe("paragraph");
  expect(blocksOf("| no table\n| at all")[0]?.kind).toBe("paragraph");
});

test("a table has no more cells than the text has strokes, whatever its head, and a very wide one stays text", () => {
  const text = (columns: number) => `${"|a".repeat(columns)}|\n${"|-".repeat(columns)}|\n${"|\n".repeat(4000)}|b|`;
  const [table, ...rest] = blocksOf(text(50));
  if (table?.kind !== "table") throw new Error("no table");
  expect([table.head.length, table.rows.length, rest.length]).toEqual([50, 4001, 0]);
  expect(table.rows.flat().map(bare)).toEqual(["b"]);
  expect(blocksOf(text(51))).toEqual([{ kind: "paragraph", inside: [{ kind: "text", text: text(51) }] }]);
});

test("links keep their address and their words, and hold no other link", () => {
  expect(inlineOf(`See [a \\[b\\] **c**](${WEB}one.example/a%28b%29) now`)).toMatchObject([
    { text: "See " },
    { href: `${WEB}one.example/a%28b%29`, inside: [{ text: "a [b] " }, { kind: "strong" }] },
    { text: " now" },
  ]);
  expect(inlineOf(`[${WEB}one.example/](${WEB}two.example/)`)).toMatchObject([{ href: `${WEB}two.example/`, inside: [{ kind: "text" }] }]);
});

test("what strangers wrote stays text in a report: signs that are escaped, and entities, are what they were", () => {
  expect(inlineOf("&lt;img src=x onerror=alert(1)\\> \\*\\*not strong\\*\\* \\[no](javascript:alert(1)) &amp;lt; \\$1")).toEqual([
    { kind: "text", text: "<img src=x onerror=alert(1)> **not strong** [no](javascript:alert(1)) &lt; $1" },
  ]);
  expect(bare(inlineOf("**ends with a star\\***"))).toBe("ends with a star*");
  expect(blocksOf("1\\. first")).toEqual([{ kind: "paragraph", inside: [{ kind: "text", text: "1. first" }] }]);
});

const LONG = 60_000;

test.each([
  ["a heading with many spaces", `# a${" ".repeat(LONG)}b`],
  ["a heading with many signs", `# a${"#".repeat(LONG)}b`],
  ["a heading with spaces and signs", `# a${" #".repeat(LONG / 2)}b`],
  ["a run of backticks", "`".repeat(LONG) + "a"],
  ["backticks in a paragraph", `a ${"`".repeat(LONG)} b`],
  ["runs of backticks that grow", Array.from({ length: 340 }, (_, n) => "`".repeat(n + 1)).join("a")],
  ["an open backtick, and again", `${"``a ` ".repeat(LONG / 6)}`],
  ["a table of one long cell", `|${"\\\\".repeat(LONG / 2)}\n|-|`],
  ["strokes", `${"|".repeat(LONG / 2)}\n${"|-".repeat(LONG / 4)}`],
  ["backslashes between stars", "*\\".repeat(LONG / 2)],
  ["addresses without an end", `${PLAIN}${".".repeat(1000)} `.repeat(LONG / 1000)],
])("%s is read at once", (_name, text) => {
  const began = performance.now();
  blocksOf(text);
  expect(performance.now() - began).toBeLessThan(200);
});

test("hostile texts are read in no time", () => {
  const began = performance.now();
  for (const text of ["*".repeat(20_000), "[".repeat(20_000), "> ".repeat(5000), "`".repeat(20_000), "_a".repeat(20_000), "- ".repeat(5000), "~~".repeat(10_000)]) blocksOf(text);
  expect(performance.now() - began).toBeLessThan(2000);
});
