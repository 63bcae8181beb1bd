import { Button } from "@mantine/core";
import { ArrowUp } from "lucide-react";
import { useEffect, useMemo, useRef, type ReactNode } from "react";
import { Loading, Trouble } from "~/blocks/Trouble";
import { count } from "~/blocks/wording";
import { Grid, type Picking } from "~/grid/Grid";
import { useKeys, type Key } from "~/shell/keys";
import classes from "./grid.module.css";
import type { ItemColumn } from "./gridColumns";
import { COUNTED_NEW, idOfItem, type Item } from "./gridRows";
import type { ItemList } from "./useItemList";

type Props = {
  label: string;
  list: ItemList;
  columns: ItemColumn[];
  total: number | null;
  picking: Picking;
  open: number | null;
  onOpen: (item: Item) => void;
  onClose: () => void;
  onClear: () => void;
  empty: ReactNode;
};

/** A list of items with its pill of new rows, its keys and its empty state. */
export function ItemGrid({ label, list, columns, total, picking, open, onOpen, onClose, onClear, empty }: Props) {
  const { grid, news } = list;
  // The drawer hears Escape itself, and may be gone when the key arrives here: it closes one thing, not two.
  const opened = useRef(false);
  useEffect(() => {
    if (open !== null) opened.current = true;
    const later = setTimeout(() => (opened.current = open !== null));
    return () => clearTimeout(later);
  }, [open]);
  const keys = useMemo<Key[]>(
    () => [
      { keys: "j", does: "Next row", act: focusGrid },
      { keys: "k", does: "Row before", act: focusGrid },
      { keys: "x", does: "Pick the row; Shift+X: all up to it", act: focusGrid },
      { keys: "Escape", does: "Close the row, or let go of what is picked", act: () => (opened.current ? onClose() : onClear()) },
    ],
    [onClose, onClear],
  );
  useKeys(keys);
  if (grid.error !== null && grid.rows.length === 0) return <Trouble error={grid.error} again={grid.restart} />;
  if (grid.cold) return <Loading rows={10} />;
  return (
    <>
      {grid.error !== null && <Trouble error={grid.error} again={grid.restart} />}
      <div className={classes.list}>
        {news > 0 && (
          <Button className={classes.news} size="compact-sm" radius="xl" leftSection={<ArrowUp size={14} aria-hidden />} onClick={() => startAgain(grid.restart)}>
            {count(news)}
            {news >= COUNTED_NEW && "+"} new
          </Button>
        )}
        {grid.rows.length === 0 && grid.last && grid.first ? (
          empty
        ) : (
          <Grid
            label={label}
            rows={grid.rows}
            columns={columns}
            idOf={idOfItem}
            total={total}
            picking={picking}
            open={open}
            onOpen={onOpen}
            first={grid.first}
            last={grid.last}
            onMore={grid.more}
            onVisible={list.see}
            fresh={list.fresh}
          />
        )}
      </div>
    </>
  );
}

function startAgain(restart: () => void): void {
  document.querySelector("[role=grid]")?.scrollTo({ top: 0 });
  restart();
}

function focusGrid(): void {
  document.querySelector<HTMLElement>("[role=grid] [role=row][tabindex='0']")?.focus();
}
