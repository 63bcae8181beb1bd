import { useCallback, useEffect, useLayoutEffect, useMemo, useReducer, useRef, useState } from "react";
import { append, nothing, patched, prepend, rowsOf, type IdOf, type Loaded, type Window } from "./window";

export type Direction = { after?: string; before?: string };

export type Fetched<R> = {
  items: R[];
  startCursor: string | null;
  endCursor: string | null;
  /** Whether there is more in the direction that was asked for. */
  more: boolean;
  /** Whether something comes before the first row; only asked on a fresh start in the middle. */
  before?: boolean;
};

export type FetchPage<R> = (where: Direction, size: number, signal: AbortSignal) => Promise<Fetched<R>>;

type Options<R> = {
  /** Of what list this is: another one starts again at its top. */
  listKey: string;
  fetchPage: FetchPage<R>;
  idOf: IdOf<R>;
  pageSize?: number;
  most?: number;
};

export type GridWindow<R> = {
  rows: R[];
  first: boolean;
  last: boolean;
  cold: boolean;
  error: unknown;
  /** The cursor at the first row, for counting what came since. */
  start: string | null;
  more: (side: "after" | "before") => void;
  /** `shownAs`: the ids of the rows whose places they take, where these are others. */
  patch: (fresh: R[], shownAs?: (number | string)[]) => void;
  restart: () => void;
};

const PAGE = 100;
const MOST = 1000;

type Action<R> =
  | { type: "fresh" }
  | { type: "append" | "prepend"; page: Loaded<R>; end: boolean; opens?: boolean }
  | { type: "patch"; rows: R[]; shownAs?: (number | string)[] };

/** A keyset window over a list of any length: at most `most` rows in memory, pages fetched at either end. */
export function useWindow<R>({ listKey, fetchPage, idOf, pageSize = PAGE, most = MOST }: Options<R>): GridWindow<R> {
  const [window, dispatch] = useReducer((state: Window<R>, action: Action<R>): Window<R> => {
    if (action.type === "fresh") return nothing();
    if (action.type === "patch") return patched(state, action.rows, idOf, action.shownAs);
    if (action.type === "prepend") return prepend(state, action.page, action.end, idOf, most);
    const next = append(state, action.page, action.end, idOf, most);
    return action.opens === undefined ? next : { ...next, first: !action.opens };
  }, nothing<R>());
  const [status, setStatus] = useState<{ cold: boolean; error: unknown }>({ cold: true, error: null });
  const [round, setRound] = useState(0);
  const busy = useRef<AbortController | null>(null);
  const latest = useRef({ window, fetchPage, pageSize });
  // Before the effects of the grid, which may ask for more at once: a level below, they come first.
  useLayoutEffect(() => {
    latest.current = { window, fetchPage, pageSize };
  });

  const load = useCallback(async (side: "start" | "after" | "before") => {
    const { window, fetchPage, pageSize } = latest.current;
    const { pages } = window;
    const where: Direction =
      side === "start" ? {} : side === "after" ? { after: pages.at(-1)?.end ?? undefined } : { before: pages[0]?.start ?? undefined };
    const ending = new AbortController();
    busy.current = ending;
    try {
      const found = await fetchPage(where, pageSize, ending.signal);
      if (ending.signal.aborted) return;
      const page = { rows: found.items, start: found.startCursor, end: found.endCursor };
      if (side === "start") dispatch({ type: "fresh" });
      if (side === "before") dispatch({ type: "prepend", page, end: !found.more });
      else dispatch({ type: "append", page, end: !found.more, opens: side === "start" ? (found.before ?? false) : undefined });
      setStatus({ cold: false, error: null });
    } catch (error) {
      if (!ending.signal.aborted) setStatus((was) => ({ ...was, error }));
    } finally {
      if (busy.current === ending) busy.current = null;
    }
  }, []);

  useEffect(() => {
    void load("start");
    return () => {
      busy.current?.abort();
      busy.current = null;
    };
  }, [load, listKey, round]);

  // Another list is cold again; the same one, started anew, keeps its rows until the new ones are there.
  const [coldKey, setColdKey] = useState(listKey);
  if (coldKey !== listKey) {
    setColdKey(listKey);
    dispatch({ type: "fresh" });
    setStatus({ cold: true, error: null });
  }

  const more = useCallback(
    (side: "after" | "before") => {
      if (busy.current === null && latest.current.window.pages.length > 0) void load(side);
    },
    [load],
  );
  const patch = useCallback((rows: R[], shownAs?: (number | string)[]) => dispatch({ type: "patch", rows, shownAs }), []);
  const restart = useCallback(() => setRound((was) => was + 1), []);
  const rows = useMemo(() => rowsOf(window), [window]);

  return { rows, first: window.first, last: window.last, ...status, start: window.pages[0]?.start ?? null, more, patch, restart };
}
