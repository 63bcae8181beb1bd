// Reads the Markdown of our own reports into pieces that React shows. Nothing of it becomes markup, and what it does not
// know stays text.

export type Span = { text: string; strong?: boolean; link?: string };
export type Block =
  | { kind: "heading"; level: number; line: Span[] }
  | { kind: "words"; line: Span[] }
  | { kind: "list"; lines: Span[][] }
  | { kind: "quote"; lines: Span[][] }
  | { kind: "table"; head: Span[][]; rows: Span[][][] };

export function blocksOf(text: string): Block[] {
  return text
    .split(/\n{2,}/)
    .filter((part) => part.trim() !== "")
    .map(blockOf);
}

function blockOf(part: string): Block {
  const lines = part.replace(/^\n+|\n+$/g, "").split("\n");
  const first = lines[0] ?? "";
  const heading = /^(#{1,6}) (.*)$/.exec(first);
  if (heading) return { kind: "heading", level: heading[1]?.length ?? 1, line: spansOf(heading[2] ?? "") };
  if (lines.every((line) => line.startsWith("- "))) return { kind: "list", lines: lines.map((line) => spansOf(line.slice(2))) };
  if (lines.every((line) => line.startsWith(">")))
    return {
      kind: "quote",
      lines: lines
        .map((line) => line.replace(/^> ?/, ""))
        .filter((line) => line !== "")
        .map(spansOf),
    };
  if (first.startsWith("|") && /^(\|---)+\|$/.test(lines[1] ?? ""))
    return { kind: "table", head: cellsOf(first), rows: lines.slice(2).map(cellsOf) };
  return { kind: "words", line: spansOf(lines.join(" ")) };
}

function cellsOf(line: string): Span[][] {
  const cells: string[] = [];
  let cell = "";
  for (let at = 0; at < line.length; at += 1) {
    const sign = line.charAt(at);
    if (sign === "\\") {
      cell += sign + line.charAt(at + 1);
      at += 1;
    } else if (sign === "|") {
      cells.push(cell);
      cell = "";
    } else cell += sign;
  }
  // What stands before the first line is nothing.
  return cells.slice(1).map((one) => spansOf(one.trim()));
}

/** `**strong**` and `[text](link)`, each with escaped signs inside. */
export function spansOf(line: string): Span[] {
  const spans: Span[] = [];
  const pattern = /\*\*((?:\\.|[^\\*])+)\*\*|\[((?:\\.|[^\\\]])*)\]\(([^()\s]*)\)/g;
  let from = 0;
  for (const found of line.matchAll(pattern)) {
    if (escaped(line, found.index)) continue;
    if (found.index > from) spans.push({ text: plain(line.slice(from, found.index)) });
    if (found[1] !== undefined) spans.push({ text: plain(found[1]), strong: true });
    else spans.push({ text: plain(found[2] ?? "").replace(/^\*\*(.*)\*\*$/, "$1"), link: found[3] });
    from = found.index + found[0].length;
  }
  if (from < line.length) spans.push({ text: plain(line.slice(from)) });
  return spans;
}

function escaped(line: string, at: number): boolean {
  let signs = 0;
  while (line.charAt(at - 1 - signs) === "\\") signs += 1;
  return signs % 2 === 1;
}

function plain(text: string): string {
  return text.replace(/\\([\\`*_[\]|~$>#+\-=.)])/g, "$1").replaceAll("&lt;", "<").replaceAll("&amp;", "&");
}
