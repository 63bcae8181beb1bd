// Passages are Markdown, and people read text: the parts of one in order, without its signs.
import { blocksOf, type Block, type Inline } from "~/blocks/markdown";

export type Mark = { from: number; to: number };
export type Part = { text: string; marked: boolean; strong: boolean };

// Characters that stand for nothing carry the marks through the reading of the Markdown.
const BEGIN = "\uE000";
const END = "\uE001";

/** Marks that overlap or lie outside do no harm. Headings and what is set in bold are strong. */
export function partsOf(text: string, marks: Mark[]): Part[] {
  const parts: Part[] = [];
  let marked = false;
  for (const [piece, strong] of piecesOf(blocksOf(withMarks(text, marks)))) {
    for (const one of piece.split(/([\uE000\uE001])/)) {
      if (one === BEGIN || one === END) marked = one === BEGIN;
      else if (one !== "") parts.push({ text: one, marked, strong });
    }
  }
  return parts;
}

/** The service counts characters, a script counts halves of some of them: marks are set between whole characters. */
function withMarks(text: string, marks: Mark[]): string {
  const characters = Array.from(text.replaceAll(/[\uE000\uE001]/g, " "));
  let made = "";
  let at = 0;
  for (const mark of [...marks].sort((a, b) => a.from - b.from)) {
    const from = Math.max(at, mark.from);
    const to = Math.min(characters.length, mark.to);
    if (to <= from) continue;
    made += characters.slice(at, from).join("") + BEGIN + characters.slice(from, to).join("") + END;
    at = to;
  }
  return made + characters.slice(at).join("");
}

type Piece = [text: string, strong: boolean];

function piecesOf(blocks: Block[]): Piece[] {
  return blocks.flatMap((block, index): Piece[] => [...(index > 0 ? [[" ", false] as Piece] : []), ...pieceOf(block)]);
}

function pieceOf(block: Block): Piece[] {
  switch (block.kind) {
    case "heading":
      return inlinePieces(block.inside, true);
    case "paragraph":
      return inlinePieces(block.inside, false);
    case "quote":
      return piecesOf(block.blocks);
    case "list":
      return block.items.flatMap((item, index) => [[`${index > 0 ? " " : ""}${block.ordered ? `${block.start + index}.` : "•"} `, false], ...piecesOf(item)]);
    case "table":
      return [block.head, ...block.rows].flatMap((row) => row.flatMap((cell): Piece[] => [...inlinePieces(cell, false), [" ", false]]));
    case "code":
      return [[block.text, false]];
    case "rule":
      return [];
  }
}

function inlinePieces(inside: Inline[], strong: boolean): Piece[] {
  return inside.flatMap((one) => ("inside" in one ? inlinePieces(one.inside, strong || one.kind === "strong") : [[one.text, strong]]));
}
