import { useCallback, useLayoutEffect, useMemo, useRef, useState } from "react";
import type { Picking } from "~/grid/Grid";
import { EVERYTHING, isEmpty, isPicked, NOTHING, toggled, type Picked } from "./selection";

/** What is picked in one list. Another list, by its key, begins with nothing; the same one, fetched anew, keeps it. */
export function usePicked(listKey: string, rows: readonly number[]): { picked: Picked; picking: Picking; clear: () => void } {
  const [kept, setKept] = useState<{ of: string; picked: Picked }>({ of: listKey, picked: NOTHING });
  const picked = kept.of === listKey ? kept.picked : NOTHING;
  const change = useCallback(
    (next: (was: Picked) => Picked) => setKept((was) => ({ of: listKey, picked: next(was.of === listKey ? was.picked : NOTHING) })),
    [listKey],
  );
  // Not a dependency: every patch makes new rows, and a new `toggle` would paint all of them again.
  const shown = useRef(rows);
  useLayoutEffect(() => {
    shown.current = rows;
  });
  const toggle = useCallback(
    (id: number | string, upTo?: number | string) =>
      change((was) => toggled(was, Number(id), shown.current, upTo === undefined ? undefined : Number(upTo))),
    [change],
  );
  const picking = useMemo<Picking>(
    () => ({
      has: (id) => isPicked(picked, Number(id)),
      toggle,
      all: picked.all && picked.ids.size === 0,
      some: !isEmpty(picked),
      toggleAll: () => change((was) => (was.all ? NOTHING : EVERYTHING)),
    }),
    [picked, toggle, change],
  );
  const clear = useCallback(() => change(() => NOTHING), [change]);
  return { picked, picking, clear };
}
