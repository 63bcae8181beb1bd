// What the palette offers. Pure, so that it can be tested.

export type Entry = {
  name: string;
  hint: string;
  /** More words that it is found by. */
  words?: string;
  /** Where it leads; or what it does. */
  to?: string;
  act?: () => void;
  /** Offered only when something is typed, because there may be many. */
  onlyTyped?: boolean;
};

const MOST = 50;

/** Entries whose name or words hold every typed word, names that begin with it first; then what else can be meant.
 * `searches`: whether the application has a search for articles. */
export function matching(entries: Entry[], typed: string, searches: boolean): Entry[] {
  const wanted = typed.trim().toLowerCase();
  if (!wanted) return entries.filter((one) => !one.onlyTyped);
  const words = wanted.split(/\s+/);
  const found = entries
    .filter((one) => words.every((word) => `${one.name} ${one.words ?? ""}`.toLowerCase().includes(word)))
    .map((one) => ({ one, rank: rank(one, wanted) }))
    .sort((a, b) => a.rank - b.rank)
    .map(({ one }) => one)
    .slice(0, MOST);
  const number = /^#?(\d{1,18})$/.exec(wanted)?.[1];
  if (number) {
    found.unshift({ name: `Job ${number}`, hint: "Job", to: `/jobs/${number}` }, { name: `Item ${number}`, hint: "Item", to: `/items/${number}` });
  }
  if (!searches) return found;
  const query = encodeURIComponent(typed.trim());
  return [...found, { name: `Search articles for “${typed.trim()}”`, hint: "Search", to: `/search?q=${query}` }];
}

/** Screens before objects, and names that begin with what was typed before those that only hold it. */
function rank(one: Entry, wanted: string): number {
  const name = one.name.toLowerCase();
  const fit = name.startsWith(wanted) ? 0 : name.includes(wanted) ? 1 : 2;
  return fit * 2 + (one.onlyTyped ? 1 : 0);
}
