import { Checkbox } from "@mantine/core";
import { useVirtualizer } from "@tanstack/react-virtual";
import { memo, useCallback, useEffect, useEffectEvent, useMemo, useRef, type KeyboardEvent, type ReactNode } from "react";
import classes from "./grid.module.css";
import { leftEdges } from "./leftEdges";
import type { IdOf } from "./window";

export type Column<R> = {
  id: string;
  header: ReactNode;
  /** Pixels. */
  width: number;
  cell: (row: R) => ReactNode;
  align?: "right";
  /** Takes the room that the others leave. */
  grows?: boolean;
  /** What is too long goes on in a second line. */
  twoLines?: boolean;
  /** Stays at the left while the rest scrolls by. Only of columns before which every one stays. */
  stays?: boolean;
};

export type Picking = {
  has: (id: number | string) => boolean;
  toggle: (id: number | string, upTo?: number | string) => void;
  all: boolean;
  some: boolean;
  toggleAll: () => void;
};

type Props<R> = {
  label: string;
  rows: R[];
  columns: Column<R>[];
  idOf: IdOf<R>;
  /** Of the whole list, if it is known. */
  total?: number | null;
  picking?: Picking;
  /** The row whose drawer is open. */
  open?: number | string | null;
  onOpen?: (row: R) => void;
  first: boolean;
  last: boolean;
  onMore: (side: "after" | "before") => void;
  /** The ids on screen now, for patching. */
  onVisible?: (ids: (number | string)[]) => void;
  /** Rows that have just changed: marked for a moment. */
  fresh?: ReadonlySet<number | string>;
  height?: string;
};

const ROW = 36;
const NEAR = 30;
const PICK = 40;

/**
 * Rows of a keyset window. What is fetched before the first row does not move what is on screen; what is let go neither.
 * One stop in the tab order; arrows, Home, End, Page keys move, Enter opens, Space picks.
 */
export function Grid<R>(props: Props<R>) {
  const { label, rows, columns, idOf, total, picking, open, onOpen, first, last, onMore, onVisible, fresh, height } = props;
  const scroller = useRef<HTMLDivElement>(null);
  const active = useRef<number | string | null>(null);

  // eslint-disable-next-line react-hooks/incompatible-library
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW,
    overscan: 12,
    getItemKey: (index) => (rows[index] === undefined ? index : idOf(rows[index])),
    // Rows that come or go above move the scroll position along, within the same render: the browser reports a scroll only
    // a frame later, and a page that arrives before that would be placed by the old position, and rows be skipped.
    anchorTo: "end",
  });
  const items = virtual.getVirtualItems();
  const from = items[0]?.index ?? 0;
  const to = items.at(-1)?.index ?? 0;

  const near = useEffectEvent(() => {
    if (!last && to >= rows.length - NEAR) onMore("after");
    if (!first && from <= NEAR) onMore("before");
    onVisible?.(rows.slice(from, to + 1).map(idOf));
  });
  useEffect(() => near(), [from, to, rows, first, last]);

  function focus(index: number): void {
    const row = rows[Math.min(Math.max(0, index), rows.length - 1)];
    if (row === undefined) return;
    active.current = idOf(row);
    virtual.scrollToIndex(rows.indexOf(row), { align: "auto" });
    requestAnimationFrame(() => {
      scroller.current?.querySelector<HTMLElement>(`[data-row="${CSS.escape(String(active.current))}"]`)?.focus({ preventScroll: true });
    });
  }

  // From one that was picked to another: all in between.
  const lastPicked = useRef<number | string | null>(null);
  const toggle = picking?.toggle;
  const pick = useCallback(
    (id: number | string, range: boolean) => {
      toggle?.(id, range && lastPicked.current !== null ? lastPicked.current : undefined);
      lastPicked.current = id;
    },
    [toggle],
  );

  function onKeyDown(event: KeyboardEvent): void {
    const id = (event.target as HTMLElement).closest<HTMLElement>("[data-row]")?.dataset.row;
    // Keys may come faster than the focus follows: what counts is where it goes.
    const heading = id === undefined ? -1 : rows.findIndex((row) => idOf(row) === active.current);
    const at = heading >= 0 ? heading : rows.findIndex((row) => String(idOf(row)) === id);
    const row = rows[at];
    if (row === undefined || (event.target as HTMLElement).matches("a, button, input, textarea")) return;
    const page = Math.max(1, Math.floor((scroller.current?.clientHeight ?? ROW * 10) / ROW) - 2);
    const moves: Record<string, number> = {
      ArrowDown: at + 1,
      ArrowUp: at - 1,
      j: at + 1,
      k: at - 1,
      PageDown: at + page,
      PageUp: at - page,
      Home: 0,
      End: rows.length - 1,
    };
    const next = moves[event.key];
    if (event.metaKey || event.ctrlKey || event.altKey) return;
    if (next !== undefined) focus(next);
    else if (event.key === "Enter" && onOpen) onOpen(row);
    else if ((event.key === " " || event.key === "x" || event.key === "X") && picking) pick(idOf(row), event.shiftKey);
    else return;
    event.preventDefault();
  }

  const width = columns.reduce((sum, column) => sum + column.width, picking ? PICK : 0);
  const picks = picking !== undefined;
  const lefts = useMemo(() => leftEdges(columns, picks ? PICK : 0), [columns, picks]);
  const stuck = (lefts.at(-1) ?? 0) + (columns[lefts.length - 1]?.width ?? 0);
  const tabStop = rows.some((row) => idOf(row) === active.current) ? active.current : rows[from] === undefined ? null : idOf(rows[from]);

  return (
    <div
      ref={scroller}
      className={classes.scroller}
      style={{ height: height ?? "min(70vh, 720px)", scrollPaddingLeft: stuck }}
      role="grid"
      aria-label={label}
      aria-rowcount={total ?? -1}
      aria-colcount={columns.length + (picking ? 1 : 0)}
      onKeyDown={onKeyDown}
      onFocus={(event) => {
        const id = event.target.closest<HTMLElement>("[data-row]")?.dataset.row;
        const row = rows.find((one) => String(idOf(one)) === id);
        if (row !== undefined) active.current = idOf(row);
      }}
      tabIndex={rows.length === 0 ? 0 : -1}
    >
      <div className={classes.head} role="row" style={{ width }}>
        {picking && (
          <div role="columnheader" className={classes.pick} data-stays={lefts.length > 0 || undefined}>
            <Checkbox size="xs" checked={picking.all} indeterminate={picking.some && !picking.all} onChange={picking.toggleAll} aria-label="Select all that match" />
          </div>
        )}
        {columns.map((column, place) => (
          <div
            key={column.id}
            role="columnheader"
            className={classes.cell}
            data-align={column.align}
            data-grows={column.grows}
            data-stays={stays(lefts, place)}
            style={{ width: column.width, left: lefts[place] }}
          >
            {column.header}
          </div>
        ))}
      </div>
      <div role="rowgroup" className={classes.body} style={{ height: virtual.getTotalSize(), width }}>
        {items.map((item) => {
          const row = rows[item.index];
          if (row === undefined) return null;
          const id = idOf(row);
          return (
            <GridRow
              key={id}
              row={row}
              id={id}
              top={item.start}
              columns={columns}
              lefts={lefts}
              picked={picking ? picking.has(id) : undefined}
              onPick={pick}
              fresh={fresh?.has(id) ?? false}
              opened={open === id}
              onOpen={onOpen}
              stop={tabStop === id}
            />
          );
        })}
      </div>
    </div>
  );
}

/** The last of those that stay has an edge. */
function stays(lefts: readonly number[], place: number): "last" | true | undefined {
  if (place >= lefts.length) return undefined;
  return place === lefts.length - 1 ? "last" : true;
}

type RowProps<R> = {
  row: R;
  id: number | string;
  top: number;
  columns: Column<R>[];
  lefts: readonly number[];
  picked?: boolean;
  onPick?: (id: number | string, range: boolean) => void;
  fresh: boolean;
  opened: boolean;
  onOpen?: (row: R) => void;
  stop: boolean;
};

const GridRow = memo(function GridRow<R>({ row, id, top, columns, lefts, picked, onPick, fresh, opened, onOpen, stop }: RowProps<R>) {
  return (
    <div
      role="row"
      className={classes.row}
      data-row={id}
      data-opened={opened || undefined}
      data-fresh={fresh || undefined}
      aria-selected={picked}
      tabIndex={stop ? 0 : -1}
      style={{ transform: `translateY(${top}px)`, height: ROW }}
      onClick={(event) => {
        if (!(event.target as HTMLElement).closest("a, button, input, label")) onOpen?.(row);
      }}
    >
      {picked !== undefined && (
        <div role="gridcell" className={classes.pick} data-stays={lefts.length > 0 || undefined}>
          <Checkbox size="xs" checked={picked} onChange={(event) => onPick?.(id, (event.nativeEvent as MouseEvent).shiftKey)} aria-label={`Select ${id}`} tabIndex={-1} />
        </div>
      )}
      {columns.map((column, place) => (
        <div
          key={column.id}
          role="gridcell"
          className={classes.cell}
          data-column={column.id}
          data-align={column.align}
          data-grows={column.grows}
          data-stays={stays(lefts, place)}
          style={{ width: column.width, left: lefts[place] }}
        >
          {column.twoLines ? <div className={classes.twoLines}>{column.cell(row)}</div> : column.cell(row)}
        </div>
      ))}
    </div>
  );
}) as <R>(props: RowProps<R> & { key?: number | string }) => ReactNode;
