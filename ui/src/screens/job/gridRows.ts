import { useCallback, useEffect, useRef, useState } from "react";
import { api, ask, type Schemas } from "~/api/client";
import type { Fetched, FetchPage } from "~/grid/useWindow";
import { useLive } from "~/live/live";

export type Item = Schemas["ItemBody"];
export type ItemJob = Schemas["ItemJob"];
/** `opens`: it starts in the middle, and something comes before it. */
export type ItemPage = Schemas["ItemPageBody"] & { opens?: boolean };

export const idOfItem = (item: Item): number => item.itemId;

/** As many as are counted in the pill of new rows. */
export const COUNTED_NEW = 50;
const LOOK_FOR_NEW_MS = 1000;

export function differs(was: Item, now: Item): boolean {
  return was.status !== now.status || was.updatedAt !== now.updatedAt || was.attempts !== now.attempts || was.why !== now.why || was.stage !== now.stage;
}

export function fetched(page: ItemPage, backwards: boolean): Fetched<Item> {
  return {
    items: page.items,
    startCursor: page.startCursor,
    endCursor: page.endCursor,
    more: (backwards ? page.previousCursor : page.nextCursor) !== null,
    before: page.opens ?? false,
  };
}

/** Those that are known by these ids; where one was edited, its copy. */
export async function inTheirPlace(known: Item[], more: (ids: number[]) => Promise<Item[]>): Promise<Map<number, Item>> {
  const copies = known.flatMap((item) => item.replacedBy ?? []);
  const found = new Map((copies.length === 0 ? [] : await more(copies)).map((item) => [item.itemId, item]));
  return new Map(known.map((item) => [item.itemId, found.get(item.replacedBy ?? 0) ?? item]));
}

export async function itemsNow(ids: number[], more: { cells?: boolean; jobs?: boolean } = {}): Promise<Schemas["ItemsNow"]> {
  return ask(api.GET("/api/items", { params: { query: { ids: ids.join(","), ...more } } }));
}

type Ask = (where: { after?: string; before?: string }, size: number, signal: AbortSignal) => Promise<ItemPage>;

type Frozen = {
  fetchPage: FetchPage<Item>;
  /** How many came since, that are not shown; COUNTED_NEW: as many or more. */
  news: number;
};

/**
 * A list whose order stands still though rows change: what changed after the first page was fetched has its place above it,
 * and only gathers in a pill. `known` says which rows are shown, wherever they are.
 */
export function useFrozenOrder(options: {
  listKey: string;
  frozen: boolean;
  ask: Ask;
  known: (id: number) => boolean;
  concerns: (jobId: number) => boolean;
  onLoaded: (ids: number[], began: number) => void;
}): Frozen {
  const { listKey, frozen, ask, known, concerns, onLoaded } = options;
  const top = useRef<{ cursor: string | null; at: string | null }>({ cursor: null, at: null });
  const [news, setNews] = useState({ of: listKey, n: 0 });

  const fetchPage = useCallback<FetchPage<Item>>(
    async (where, size, signal) => {
      const began = performance.now();
      const page = await ask(where, size, signal);
      onLoaded(page.items.map(idOfItem), began);
      if (where.after === undefined && where.before === undefined) {
        top.current = { cursor: page.startCursor, at: page.items[0]?.updatedAt ?? null };
        setNews({ of: listKey, n: 0 });
      }
      const found = fetched(page, where.before !== undefined);
      const { at } = top.current;
      if (!frozen || where.before === undefined || at === null) return found;
      const old = found.items.filter((item) => item.updatedAt <= at);
      return { ...found, items: old, more: found.more && old.length === found.items.length };
    },
    [ask, frozen, listKey, onLoaded],
  );

  async function count(signal: AbortSignal): Promise<void> {
    const { cursor } = top.current;
    if (!frozen || cursor === null) return;
    const page = await ask({ before: cursor }, COUNTED_NEW, signal);
    const full = page.items.length >= COUNTED_NEW;
    setNews({ of: listKey, n: full ? COUNTED_NEW : page.items.filter((item) => !known(item.itemId)).length });
  }
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const ending = useRef<AbortController>(undefined);
  useLive((event) => {
    if (!frozen || (event.kind !== "reset" && !(event.kind === "job" && concerns(event.jobId)))) return;
    timer.current ??= setTimeout(() => {
      timer.current = undefined;
      ending.current = new AbortController();
      count(ending.current.signal).catch(() => undefined);
    }, LOOK_FOR_NEW_MS);
  });
  useEffect(
    () => () => {
      clearTimeout(timer.current);
      timer.current = undefined;
      ending.current?.abort();
    },
    [listKey],
  );
  return { fetchPage, news: news.of === listKey ? news.n : 0 };
}
