// What differs between two texts, line by line. Pure.

export type Line = { kind: "same" | "gone" | "new"; text: string; before: number | null; after: number | null };
export type Hunk = Line | { kind: "skipped"; count: number };

/** Beyond this many steps the middle is told as replaced: nobody reads such a difference line by line. */
const MOST_STEPS = 2_000_000;

export function lineDiff(before: string, after: string): Line[] {
  const a = before === "" ? [] : before.split("\n");
  const b = after === "" ? [] : after.split("\n");
  let head = 0;
  while (head < a.length && head < b.length && a[head] === b[head]) head += 1;
  let tail = 0;
  while (tail < a.length - head && tail < b.length - head && a[a.length - 1 - tail] === b[b.length - 1 - tail]) tail += 1;
  const middle = changed(a.slice(head, a.length - tail), b.slice(head, b.length - tail));
  const kinds: [Line["kind"], string][] = [
    ...a.slice(0, head).map((text): [Line["kind"], string] => ["same", text]),
    ...middle,
    ...a.slice(a.length - tail).map((text): [Line["kind"], string] => ["same", text]),
  ];
  let left = 0;
  let right = 0;
  return kinds.map(([kind, text]) => {
    if (kind !== "new") left += 1;
    if (kind !== "gone") right += 1;
    return { kind, text, before: kind === "new" ? null : left, after: kind === "gone" ? null : right };
  });
}

/** The longest common lines stay; by a table, whose size is bounded. */
function changed(a: string[], b: string[]): [Line["kind"], string][] {
  const gone = (texts: string[]) => texts.map((text): [Line["kind"], string] => ["gone", text]);
  const fresh = (texts: string[]) => texts.map((text): [Line["kind"], string] => ["new", text]);
  if (a.length * b.length > MOST_STEPS) return [...gone(a), ...fresh(b)];
  const wide = b.length + 1;
  const longest = new Uint32Array((a.length + 1) * wide);
  const at = (i: number, j: number) => longest[i * wide + j] ?? 0;
  for (let i = a.length - 1; i >= 0; i -= 1)
    for (let j = b.length - 1; j >= 0; j -= 1)
      longest[i * wide + j] = a[i] === b[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
  const found: [Line["kind"], string][] = [];
  let i = 0;
  let j = 0;
  while (i < a.length && j < b.length) {
    if (a[i] === b[j]) {
      found.push(["same", a[i] ?? ""]);
      i += 1;
      j += 1;
    } else if (at(i + 1, j) >= at(i, j + 1)) {
      found.push(["gone", a[i] ?? ""]);
      i += 1;
    } else {
      found.push(["new", b[j] ?? ""]);
      j += 1;
    }
  }
  return [...found, ...gone(a.slice(i)), ...fresh(b.slice(j))];
}

/** Long stretches of equal lines are left out, but for a few around what changed. */
export function folded(lines: Line[], around = 3): Hunk[] {
  const near = new Set<number>();
  lines.forEach((line, index) => {
    if (line.kind !== "same") for (let at = index - around; at <= index + around; at += 1) near.add(at);
  });
  const hunks: Hunk[] = [];
  let skipped = 0;
  const leave = () => {
    if (skipped > 0) hunks.push({ kind: "skipped", count: skipped });
    skipped = 0;
  };
  lines.forEach((line, index) => {
    if (near.has(index)) {
      leave();
      hunks.push(line);
    } else skipped += 1;
  });
  leave();
  return hunks;
}
