// What somebody has picked: some rows, or all that match but some. The list of it is the service's; here is only what was ticked.

export type Picked = {
  /** True: all that match, and `ids` are left out. */
  all: boolean;
  ids: ReadonlySet<number>;
};

export const NOTHING: Picked = { all: false, ids: new Set() };
export const EVERYTHING: Picked = { all: true, ids: new Set() };

/** As many ids as the service takes at one time. */
export const MOST = 10_000;

export function isPicked(picked: Picked, id: number): boolean {
  return picked.all !== picked.ids.has(id);
}

export function isEmpty(picked: Picked): boolean {
  return !picked.all && picked.ids.size === 0;
}

/** One row more or less; with `upTo` all rows from there to it become what it becomes. */
export function toggled(picked: Picked, id: number, rows: readonly number[], upTo?: number): Picked {
  const on = !isPicked(picked, id);
  const from = upTo === undefined ? -1 : rows.indexOf(upTo);
  const to = rows.indexOf(id);
  const concerned = from < 0 || to < 0 ? [id] : rows.slice(Math.min(from, to), Math.max(from, to) + 1);
  const ids = new Set(picked.ids);
  for (const one of concerned) {
    if (on === picked.all) ids.delete(one);
    else if (ids.size < MOST) ids.add(one);
  }
  return { all: picked.all, ids };
}

/** null: nobody knows how many match. */
export function countOf(picked: Picked, matching: number | null): number | null {
  if (!picked.all) return picked.ids.size;
  return matching === null ? null : Math.max(0, matching - picked.ids.size);
}
