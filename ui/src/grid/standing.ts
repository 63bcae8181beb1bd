// A list that is fetched again while people look at it: nothing moves, nothing is lost at its end.

/**
 * `shown` after `fresh` was fetched, which may reach less far: what is new pushes the last ones out of the pages that were
 * asked for, and those stay as they were. Known rows keep their places; what is missing in between is gone; what comes
 * above known ones waits until somebody wants it, what comes behind them is appended.
 */
export function stood<R>(shown: R[], fresh: R[], more: boolean, idOf: (row: R) => number): { rows: R[]; waiting: number } {
  const known = new Set(shown.map(idOf));
  const lastKnown = fresh.findLastIndex((row) => known.has(idOf(row)));
  if (lastKnown < 0) return more && shown.length > 0 ? { rows: shown, waiting: fresh.length } : { rows: fresh, waiting: 0 };
  const now = new Map(fresh.map((row) => [idOf(row), row]));
  const lastFetched = shown.findLastIndex((row) => now.has(idOf(row)));
  const kept = shown.flatMap((row, place) => now.get(idOf(row)) ?? (more && place > lastFetched ? row : []));
  const waiting = fresh.slice(0, lastKnown).filter((row) => !known.has(idOf(row))).length;
  return { rows: [...kept, ...fresh.slice(lastKnown + 1)], waiting };
}
