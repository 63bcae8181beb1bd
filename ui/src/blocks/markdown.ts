// A small part of Markdown, read into a tree. What it does not know stays text; nothing in it is ever markup.
import { webAddress } from "./webAddress";

export type Inline =
  | { kind: "text"; text: string }
  | { kind: "code"; text: string }
  | { kind: "strong" | "em" | "strike"; inside: Inline[] }
  /** Without an address it may lead to, it is shown as it was written. */
  | { kind: "link"; href: string | null; written: string; inside: Inline[] };

export type Block =
  | { kind: "heading"; level: number; inside: Inline[] }
  | { kind: "paragraph"; inside: Inline[] }
  | { kind: "quote"; blocks: Block[] }
  | { kind: "list"; ordered: boolean; start: number; items: Block[][] }
  | { kind: "table"; head: Inline[][]; rows: Inline[][][] }
  | { kind: "code"; text: string }
  | { kind: "rule" };

const DEEPEST = 6;
const MOST_COLUMNS = 50;
// Its end is trimmed by hand: a pattern for it tries every place where the spaces could begin.
const HEADING = /^ {0,3}(#{1,6})\s(.*)$/;
const RULE = /^ {0,3}([-*_])( *\1){2,} *$/;
const FENCE = /^ {0,3}(`{3,}|~{3,})/;
const QUOTE = /^ {0,3}> ?/;
const ITEM = /^( {0,3})([-*+]|\d{1,9}[.)])( +|$)/;

export function blocksOf(text: string, depth = 0): Block[] {
  const lines = text.replaceAll("\r\n", "\n").split("\n");
  const blocks: Block[] = [];
  let at = 0;
  while (at < lines.length) {
    const line = lines[at] ?? "";
    if (line.trim() === "") {
      at += 1;
      continue;
    }
    const [block, next] = blockAt(lines, at, line, depth);
    blocks.push(block);
    at = next;
  }
  return blocks;
}

function blockAt(lines: string[], at: number, line: string, depth: number): [Block, number] {
  const fence = FENCE.exec(line)?.[1];
  if (fence !== undefined) return fenced(lines, at + 1, fence);
  const heading = HEADING.exec(line);
  if (heading) return [{ kind: "heading", level: (heading[1] ?? "#").length, inside: inlineOf(headingText(heading[2] ?? "")) }, at + 1];
  if (RULE.test(line)) return [{ kind: "rule" }, at + 1];
  if (isTable(line, lines[at + 1])) return table(lines, at, line);
  if (depth < DEEPEST && QUOTE.test(line)) return quoted(lines, at, depth);
  if (depth < DEEPEST && ITEM.test(line)) return listed(lines, at, depth);
  let to = at + 1;
  while (to < lines.length && !startsAnother(lines[to] ?? "", depth)) to += 1;
  return [{ kind: "paragraph", inside: inlineOf(lines.slice(at, to).join("\n").trim()) }, to];
}

/** Without the spaces around it and the signs that may close it. */
function headingText(rest: string): string {
  const text = rest.trim();
  let end = text.length;
  while (end > 0 && text[end - 1] === "#") end -= 1;
  return text.slice(0, end).trimEnd();
}

function startsAnother(line: string, depth: number): boolean {
  const nests = depth < DEEPEST && (QUOTE.test(line) || ITEM.test(line));
  return line.trim() === "" || FENCE.test(line) || HEADING.test(line) || RULE.test(line) || nests;
}

function fenced(lines: string[], from: number, fence: string): [Block, number] {
  let to = from;
  while (to < lines.length && !(lines[to] ?? "").trim().startsWith(fence)) to += 1;
  return [{ kind: "code", text: lines.slice(from, to).join("\n") }, to + 1];
}

function quoted(lines: string[], at: number, depth: number): [Block, number] {
  let to = at;
  while (to < lines.length && QUOTE.test(lines[to] ?? "")) to += 1;
  const inside = lines.slice(at, to).map((line) => line.replace(QUOTE, ""));
  return [{ kind: "quote", blocks: blocksOf(inside.join("\n"), depth + 1) }, to];
}

function listed(lines: string[], at: number, depth: number): [Block, number] {
  const first = ITEM.exec(lines[at] ?? "")?.[2] ?? "-";
  const ordered = /\d/.test(first);
  const items: string[][] = [];
  let to = at;
  let width = 0;
  for (; to < lines.length; to += 1) {
    const line = lines[to] ?? "";
    const item = ITEM.exec(line);
    const indent = line.length - line.trimStart().length;
    if (item && (indent < width || items.length === 0)) {
      if (/\d/.test(item[2] ?? "") !== ordered) break;
      width = item[0].length;
      items.push([line.slice(width)]);
    } else if (indent >= width) items.at(-1)?.push(line.slice(width));
    else if (line.trim() === "" && belongs(lines[to + 1], width)) items.at(-1)?.push("");
    else break;
  }
  const start = ordered ? Number.parseInt(first, 10) : 1;
  return [{ kind: "list", ordered, start, items: items.map((one) => blocksOf(one.join("\n"), depth + 1)) }, to];
}

/** Whether a line behind an empty one still is part of a list whose text is indented by `width`. */
function belongs(line: string | undefined, width: number): boolean {
  if (line === undefined || line.trim() === "") return false;
  return line.length - line.trimStart().length >= width || ITEM.test(line);
}

/** A wider one stays text, so that nothing of it is lost. */
function isTable(line: string, below: string | undefined): boolean {
  if (!line.startsWith("|") || !below?.startsWith("|")) return false;
  const marks = cellsOf(below);
  return marks.length <= MOST_COLUMNS && marks.every((cell) => /^:?-+:?$/.test(cell)) && marks.length === cellsOf(line).length;
}

function table(lines: string[], at: number, line: string): [Block, number] {
  const head = cellsOf(line);
  let to = at + 2;
  while (lines[to]?.startsWith("|")) to += 1;
  // A row keeps the cells it has: one filled up to the head would let a short text make millions.
  const rows = lines.slice(at + 2, to).map((row) => cellsOf(row).slice(0, head.length).map((cell) => inlineOf(cell)));
  return [{ kind: "table", head: head.map((cell) => inlineOf(cell)), rows }, to];
}

/** What stands between the strokes; one behind a backslash is part of a cell. */
function cellsOf(line: string): string[] {
  const cells = [""];
  for (let at = line.indexOf("|") + 1; at < line.length; at += 1) {
    const sign = line.charAt(at);
    if (sign === "|") cells.push("");
    else cells.push((cells.pop() ?? "") + (sign === "\\" ? line.slice(at, (at += 1) + 1) : sign));
  }
  // What stands behind the last stroke is nothing.
  if (cells.at(-1)?.trim() === "") cells.pop();
  return cells.map((cell) => cell.trim());
}

// Each alternative begins with a character of its own, and none can be matched in two ways: no text takes long to read.
const TOKEN =
  /\\([!-/:-@[-`{-~])|&(lt|gt|amp|quot);|(`{1,8})(?!`)([^`]{1,5000})\3(?!`)|!?\[((?:\\.|[^[\]\\\n]){1,500})\]\(([^\s()<>]{1,2000})\)|\*\*((?:\\.|[^*\n\\]|\*(?!\*)){1,2000})\*\*|\*(?![\s*])((?:\\.|[^*\n\\]){1,2000})\*|~~([^~\n]{1,2000})~~|(?<![\p{L}\p{N}])_([^_\s][^_\n]{0,2000})_(?![\p{L}\p{N}])|(https?:\/\/[^\s<>"'()[\]]{0,2000}[^\s<>"'()[\].,;:!?])/gu;
const ENTITIES: Record<string, string> = { lt: "<", gt: ">", amp: "&", quot: '"' };

export function inlineOf(text: string, depth = 0): Inline[] {
  if (depth > 3) return [{ kind: "text", text }];
  const found: Inline[] = [];
  let at = 0;
  const plain = (part: string) => {
    const before = found.at(-1);
    if (part === "") return;
    if (before?.kind === "text") before.text += part;
    else found.push({ kind: "text", text: part });
  };
  for (const match of text.matchAll(TOKEN)) {
    plain(text.slice(at, match.index));
    const made = tokenOf(match, depth);
    if (typeof made === "string") plain(made);
    else found.push(made);
    at = match.index + match[0].length;
  }
  plain(text.slice(at));
  return found;
}

function tokenOf(match: RegExpMatchArray, depth: number): Inline | string {
  const [whole, escaped, entity, , code, label, address, strong, em, strike, alsoEm, bare] = match;
  const inside = (part: string) => inlineOf(part, depth + 1);
  if (escaped !== undefined) return escaped;
  if (entity !== undefined) return ENTITIES[entity] ?? whole;
  if (code !== undefined) return { kind: "code", text: code };
  if (strong !== undefined) return { kind: "strong", inside: inside(strong) };
  if (em !== undefined) return { kind: "em", inside: inside(em) };
  if (alsoEm !== undefined) return { kind: "em", inside: inside(alsoEm) };
  if (strike !== undefined) return { kind: "strike", inside: inside(strike) };
  if (label !== undefined) return { kind: "link", href: webAddress(address), written: whole, inside: inside(label).flatMap(unlinked) };
  return bare === undefined ? whole : { kind: "link", href: webAddress(bare), written: bare, inside: [{ kind: "text", text: bare }] };
}

/** An address within the words of a link is no link of its own. */
function unlinked(one: Inline): Inline[] {
  if (one.kind === "link") return one.inside;
  return "inside" in one ? [{ ...one, inside: one.inside.flatMap(unlinked) }] : [one];
}
