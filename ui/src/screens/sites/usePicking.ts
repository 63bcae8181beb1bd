import { useMemo, useState } from "react";
import type { Picking } from "~/grid/Grid";
import type { IdOf } from "~/grid/window";

type Picked<R> = Picking & { rows: R[]; clear: () => void };

/** Rows that were chosen, as they were last seen, or all of the list, also those that are not loaded. */
export function usePicking<R>(rows: R[], idOf: IdOf<R>, listKey: string): Picked<R> {
  const [chosen, setChosen] = useState<{ of: string; all: boolean; rows: Map<number | string, R> }>({ of: listKey, all: false, rows: new Map() });
  if (chosen.of !== listKey) setChosen({ of: listKey, all: false, rows: new Map() });
  return useMemo(() => {
    const none = { of: listKey, all: false, rows: new Map<number | string, R>() };
    const fresh = new Map(rows.map((row) => [idOf(row), row]));
    return {
      has: (id) => chosen.all || chosen.rows.has(id),
      all: chosen.all,
      some: chosen.all || chosen.rows.size > 0,
      rows: [...chosen.rows].map(([id, row]) => fresh.get(id) ?? row),
      toggleAll: () => setChosen(chosen.all ? none : { ...none, all: true }),
      clear: () => setChosen(none),
      toggle: (id) => {
        // One less than all is no selection the service knows: what is loaded, without it.
        const kept = chosen.all ? new Map(fresh) : new Map(chosen.rows);
        const row = fresh.get(id);
        if (kept.has(id)) kept.delete(id);
        else if (row !== undefined) kept.set(id, row);
        setChosen({ of: listKey, all: false, rows: kept });
      },
    };
  }, [rows, idOf, listKey, chosen]);
}
