// Which words of a text are evidence for something. Pure: what is shown stays text, cut into pieces.

export type Mark = { text: string; kind: "supported" | "unsupported" | "name"; about?: string };
export type Piece = { text: string; mark: Mark | null };

/** The text in pieces, those that a mark names set apart. Where marks overlap, the earlier and longer one counts. */
export function marked(text: string, marks: Mark[]): Piece[] {
  const found = marks
    .flatMap((mark) => places(text, mark.text).map((at) => ({ at, end: at + mark.text.length, mark })))
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

function places(text: string, wanted: string): number[] {
  const found: number[] = [];
  if (wanted.trim() === "") return found;
  // Lower case of some letters is longer than they are; then places would not fit, so only exact ones are looked for.
  const lower = text.toLowerCase();
  const same = lower.length === text.length && wanted.toLowerCase().length === wanted.length;
  const [within, what] = same ? [lower, wanted.toLowerCase()] : [text, wanted];
  for (let at = within.indexOf(what); at >= 0; at = within.indexOf(what, at + what.length)) found.push(at);
  return found;
}
