import { useCallback, useEffect, useEffectEvent, useRef, useState, type RefObject } from "react";
import { useLive } from "~/live/live";
import { Patcher } from "./patcher";
import type { GridWindow } from "./useWindow";

/** How long a changed row is marked. */
const MARKED_MS = 1200;
const NONE: ReadonlySet<number> = new Set();

type Options<R> = {
  /** Filled by whoever makes the window, which comes later: its pages are told here. */
  grid: RefObject<GridWindow<R> | null>;
  idOf: (row: R) => number;
  /** Whether a job that changed may have rows here. */
  concerns: (jobId: number) => boolean;
  /** As they are now, by the id they are known by: another row may have taken the place of one. */
  fetchNow: (ids: number[]) => Promise<Map<number, R>>;
  /** Whether somebody would see a difference. */
  differs: (was: R, now: R) => boolean;
};

type KnownRows = {
  /** Those that have just changed. */
  fresh: ReadonlySet<number>;
  see: (ids: (number | string)[]) => void;
  /** These were fetched by a request that began at that time of `performance.now()`. */
  loaded: (ids: number[], began: number) => void;
};

/** Rows that are on screen change cell by cell as the stream tells of them; none comes, goes or moves. */
export function useKnownRows<R>({ grid, idOf, concerns, fetchNow, differs }: Options<R>): KnownRows {
  const [fresh, setFresh] = useState(NONE);
  const take = useEffectEvent((now: Map<number, R>) => {
    const window = grid.current;
    if (window === null) return;
    const changed = window.rows.flatMap((was) => {
      const row = now.get(idOf(was));
      return row !== undefined && differs(was, row) ? [{ as: idOf(was), row }] : [];
    });
    if (changed.length === 0) return;
    window.patch(
      changed.map((one) => one.row),
      changed.map((one) => one.as),
    );
    const ids = changed.map((one) => idOf(one.row));
    setFresh((before) => new Set([...before, ...ids]));
    setTimeout(() => setFresh((before) => without(before, ids)), MARKED_MS);
  });
  const fetchRows = useEffectEvent((ids: number[]) => fetchNow(ids));
  const patcher = useRef<Patcher | null>(null);
  useEffect(() => {
    const made = new Patcher(async (ids) => take(await fetchRows(ids)));
    patcher.current = made;
    return () => made.stop();
  }, []);

  useLive((event) => {
    if (event.kind === "reset" || (event.kind === "job" && concerns(event.jobId))) patcher.current?.hear();
  });
  const see = useCallback((ids: (number | string)[]) => patcher.current?.see(ids.map(Number)), []);
  const loaded = useCallback((ids: number[], began: number) => patcher.current?.loaded(ids, began), []);
  return { fresh, see, loaded };
}

function without(all: ReadonlySet<number>, ids: number[]): ReadonlySet<number> {
  const left = new Set(all);
  for (const id of ids) left.delete(id);
  return left.size === 0 ? NONE : left;
}
