// Which words of a text are evidence for something. Pure: what is shown stays text, cut into pieces.

export type Mark = { text: string; kind: "supported" | "unsupported" | "name"; about?: string };
export type Piece = { text: string; mark: Mark | null };

/** The text in pieces, those that a mark names set apart. Where marks overlap, the earlier and longer one counts. */
export function marked(text: string, marks: Mark[]): Piece[] {
  const within = bare(text);
  const found = marks
    .flatMap((mark) => places(within, mark.text).map(([at, end]) => ({ at, end, mark })))
    .sort((one, other) => one.at - other.at || other.end - one.end);
  const pieces: Piece[] = [];
  let from = 0;
  for (const { at, end, mark } of found) {
    if (at < from) continue;
    if (at > from) pieces.push({ text: text.slice(from, at), mark: null });
    pieces.push({ text: text.slice(at, end), mark });
    from = end;
  }
  if (from < text.length) pieces.push({ text: text.slice(from), mark: null });
  return pieces;
}

type Bare = { letters: string; at: number[] };

/**
 * Small letters without the signs of Markdown, and where each stood: sentences are taken from an answer without them.
 * One sign each, because the lower case of some letters is longer than they are.
 */
function bare(text: string): Bare {
  const at: number[] = [];
  let letters = "";
  for (let index = 0; index < text.length; index += 1) {
    const sign = text.charAt(index);
    const link = sign === "]" ? /^\]\([^)]*\)/.exec(text.slice(index, index + 2100)) : null;
    if (link) index += link[0].length - 1;
    else if (!"*_`#[]".includes(sign)) {
      const space = /\s/.test(sign);
      if (space && letters.endsWith(" ")) continue;
      const small = sign.toLowerCase();
      letters += space ? " " : small.length === 1 ? small : sign;
      at.push(index);
    }
  }
  return { letters, at };
}

function places(within: Bare, wanted: string): [number, number][] {
  const what = bare(wanted).letters.trim();
  const found: [number, number][] = [];
  if (what === "") return found;
  for (let from = within.letters.indexOf(what); from >= 0; from = within.letters.indexOf(what, from + what.length))
    found.push([within.at[from] ?? 0, (within.at[from + what.length - 1] ?? 0) + 1]);
  return found;
}
