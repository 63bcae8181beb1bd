import { useCallback, useLayoutEffect, useMemo, useRef } from "react";
import type { Schemas } from "~/api/client";
import { useKnownRows } from "~/grid/useKnownRows";
import { useWindow, type GridWindow } from "~/grid/useWindow";
import { differs, idOfItem, inTheirPlace, itemsNow, useFrozenOrder, type Item, type ItemPage } from "./gridRows";

type Options = {
  /** Of what list this is. */
  listKey: string;
  ask: (where: { after?: string; before?: string }, size: number, signal: AbortSignal) => Promise<ItemPage>;
  /** Newest change first: the order stands still, and what is new gathers. Else what is new comes at the end. */
  frozen: boolean;
  concerns: (jobId: number) => boolean;
  cells?: boolean;
  /** Also how far their jobs are. */
  onJobs?: (jobs: Schemas["ItemJob"][]) => void;
};

export type ItemList = {
  grid: GridWindow<Item>;
  ids: number[];
  fresh: ReadonlySet<number>;
  news: number;
  see: (ids: (number | string)[]) => void;
};

/** Items as a window that stays up to date: known rows change in place, new ones are counted. */
export function useItemList({ listKey, ask, frozen, concerns, cells, onJobs }: Options): ItemList {
  const held = useRef<GridWindow<Item> | null>(null);
  const fetchNow = async (ids: number[]): Promise<Map<number, Item>> => {
    const now = await itemsNow(ids, { cells, jobs: onJobs !== undefined });
    onJobs?.(now.jobs);
    return inTheirPlace(now.items, async (copies) => (await itemsNow(copies, { cells })).items);
  };
  const { fresh, see, loaded } = useKnownRows<Item>({ grid: held, idOf: idOfItem, concerns, fetchNow, differs });
  const known = useCallback((id: number) => held.current?.rows.some((row) => row.itemId === id) ?? false, []);
  const { fetchPage, news } = useFrozenOrder({ listKey, frozen, ask, known, concerns, onLoaded: loaded });
  const grid = useWindow<Item>({ listKey, fetchPage, idOf: idOfItem });
  useLayoutEffect(() => {
    held.current = grid;
  });
  const ids = useMemo(() => grid.rows.map(idOfItem), [grid.rows]);
  return { grid, ids, fresh, news, see };
}
