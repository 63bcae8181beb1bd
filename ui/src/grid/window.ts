// The part of an endless list that a tab holds: some pages around where somebody looks. Pure, so that it can be tested.

export type Loaded<R> = {
  rows: R[];
  /** Cursors at the first and the last row; null only for an empty page. */
  start: string | null;
  end: string | null;
};

export type Window<R> = {
  pages: Loaded<R>[];
  /** Nothing comes before or after, as far as was known when it was asked. */
  first: boolean;
  last: boolean;
};

export type IdOf<R> = (row: R) => number | string;

export const nothing = <R>(): Window<R> => ({ pages: [], first: true, last: false });

export function rowsOf<R>(window: Window<R>): R[] {
  return window.pages.flatMap((page) => page.rows);
}

/** A page behind the last one. Pages at the other end are let go while more than `most` rows are held. */
export function append<R>(window: Window<R>, page: Loaded<R>, last: boolean, idOf: IdOf<R>, most: number): Window<R> {
  const pages = added(window, page, idOf);
  const kept = pages === null ? window.pages : [...window.pages, pages];
  let from = 0;
  let rows = size(kept);
  while (kept.length - from > 1 && rows - (kept[from]?.rows.length ?? 0) >= most) {
    rows -= kept[from]?.rows.length ?? 0;
    from += 1;
  }
  return { pages: kept.slice(from), first: window.first && from === 0, last };
}

/** The same at the other side. */
export function prepend<R>(window: Window<R>, page: Loaded<R>, first: boolean, idOf: IdOf<R>, most: number): Window<R> {
  const pages = added(window, page, idOf);
  const kept = pages === null ? window.pages : [pages, ...window.pages];
  let to = kept.length;
  let rows = size(kept);
  while (to > 1 && rows - (kept[to - 1]?.rows.length ?? 0) >= most) {
    to -= 1;
    rows -= kept[to]?.rows.length ?? 0;
  }
  return { pages: kept.slice(0, to), first, last: window.last && to === kept.length };
}

/** Known rows change in place; none comes, goes or moves. One may be another from then on: an edited copy takes its place. */
export function patched<R>(window: Window<R>, fresh: R[], idOf: IdOf<R>, shownAs = fresh.map(idOf)): Window<R> {
  const news = new Map(fresh.map((row, place) => [shownAs[place], row]));
  let changed = false;
  const pages = window.pages.map((page) => {
    if (!page.rows.some((row) => news.has(idOf(row)))) return page;
    changed = true;
    return { ...page, rows: page.rows.map((row) => news.get(idOf(row)) ?? row) };
  });
  return changed ? { ...window, pages } : window;
}

/** Without rows that are shown already: one that changed meanwhile may have moved into a page that comes later. */
function added<R>(window: Window<R>, page: Loaded<R>, idOf: IdOf<R>): Loaded<R> | null {
  const known = new Set(window.pages.flatMap((one) => one.rows.map(idOf)));
  const rows = page.rows.filter((row) => !known.has(idOf(row)));
  // An empty page still moves the cursor, or the next request would ask the same again.
  return page.start === null ? null : { ...page, rows };
}

function size<R>(pages: Loaded<R>[]): number {
  return pages.reduce((sum, page) => sum + page.rows.length, 0);
}
