// The service counts characters, a script counts halves of some of them: marks are cut from whole characters.

export type Mark = { from: number; to: number };
export type Part = { text: string; marked: boolean };

/** The passage in order, in parts that are marked or not. Marks that overlap or lie outside do no harm. */
export function partsOf(text: string, marks: Mark[]): Part[] {
  const characters = Array.from(text);
  const parts: Part[] = [];
  let at = 0;
  for (const mark of [...marks].sort((a, b) => a.from - b.from)) {
    const from = Math.max(at, mark.from);
    const to = Math.min(characters.length, mark.to);
    if (to <= from) continue;
    if (from > at) parts.push({ text: characters.slice(at, from).join(""), marked: false });
    parts.push({ text: characters.slice(from, to).join(""), marked: true });
    at = to;
  }
  if (at < characters.length) parts.push({ text: characters.slice(at).join(""), marked: false });
  return parts;
}
