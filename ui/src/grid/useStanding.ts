import { useState } from "react";
import { stood } from "./standing";

type Found<R> = { data?: { pages: { items: R[] }[] }; hasNextPage: boolean; isFetchedAfterMount: boolean };
type Held<R> = { key: string; data: unknown; settled: boolean; rows: R[]; waiting: number };

/** Rows stand from the first answer after somebody came here; what is newer waits to be wanted. `key`: of what list. */
export function useStanding<R>(found: Found<R>, key: string, idOf: (row: R) => number): { rows: R[]; waiting: number; showNew: () => void } {
  const nothing: Held<R> = { key, data: null, settled: false, rows: [], waiting: 0 };
  const [held, setHeld] = useState(nothing);
  const { data, hasNextPage, isFetchedAfterMount: settled } = found;
  const same = held.key === key;
  if (data && (!same || held.data !== data || held.settled !== settled)) {
    const fresh = data.pages.flatMap((page) => page.items);
    setHeld({ key, data, settled, ...stood(same && held.settled ? held.rows : [], fresh, hasNextPage, idOf) });
  }
  const { rows, waiting } = same ? held : nothing;
  return { rows, waiting, showNew: () => setHeld(nothing) };
}
