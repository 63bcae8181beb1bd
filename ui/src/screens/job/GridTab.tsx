import { Button, Group, Stack } from "@mantine/core";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useCallback, useMemo } from "react";
import { api, ask, type Schemas } from "~/api/client";
import { Empty } from "~/blocks/Empty";
import { useLive } from "~/live/live";
import { columnOrder } from "./columnOrder";
import { ColumnsMenu, countIn, FilterPill, GoToRow, Order, StateChips } from "./GridTools";
import { linesOf } from "./gridCopy";
import { gridColumns } from "./gridColumns";
import type { Item } from "./gridRows";
import { ItemGrid } from "./ItemGrid";
import { ITEM_STATES } from "./routes";
import { SelectionBar } from "./SelectionBar";
import { useItemList } from "./useItemList";
import { usePicked } from "./usePicked";

/** The rows of a job: what came in, what came out, how it went. */
export function GridTab({ job }: { job: Schemas["JobDetail"] }) {
  const { jobId } = job;
  const search = useSearch({ from: "/jobs/$jobId" });
  const navigate = useNavigate({ from: "/jobs/$jobId" });
  const { status, group, row } = search;
  const filtered = status !== undefined || group !== undefined;
  const updated = filtered || search.sort === "updated";
  const listKey = JSON.stringify([jobId, status, group, updated, updated ? null : row]);

  const askPage = useCallback(
    async (where: { after?: string; before?: string }, pageSize: number, signal: AbortSignal) => {
      const fresh = where.after === undefined && where.before === undefined;
      const order = updated ? ({ sort: "-updatedAt", statuses: status?.join(","), group } as const) : ({ sort: "row", fromRow: fresh ? row : undefined } as const);
      const query = { ...where, ...order, pageSize, cells: true };
      const page = await ask(api.GET("/api/jobs/{jobId}/items", { params: { path: { jobId }, query }, signal }));
      // Somebody who starts in the middle of the file can go up from there.
      return fresh && !updated && (row ?? 1) > 1 ? { ...page, opens: true } : page;
    },
    [jobId, updated, status, group, row],
  );
  const concerns = useCallback((changed: number) => changed === jobId, [jobId]);
  const list = useItemList({ listKey, ask: askPage, frozen: updated, concerns, cells: true });
  const { grid } = list;

  // Rows are stored while somebody looks at the end of the list: they are added behind it.
  useLive((event) => {
    if (updated || !grid.last || (event.kind !== "reset" && !(event.kind === "job" && event.jobId === jobId))) return;
    if (grid.rows.length === 0) grid.restart();
    else grid.more("after");
  });

  const all = useMemo(() => gridColumns({ columns: job.columns, resultColumns: job.resultColumns }), [job.columns, job.resultColumns]);
  const shown = useMemo(() => new Set(search.columns ?? all.map((column) => column.id)), [search.columns, all]);
  const columns = useMemo(() => {
    const some = all.filter((column) => shown.has(column.id));
    return columnOrder(some.length > 0 ? some : all, { status, group });
  }, [all, shown, status, group]);

  const { picked, picking, clear } = usePicked(JSON.stringify([jobId, status, group]), list.ids);
  const set = useCallback((changes: Partial<typeof search>) => void navigate({ search: (was) => ({ ...was, ...changes }), replace: true }), [navigate]);
  const onOpen = useCallback((item: Item) => set({ item: item.itemId }), [set]);
  const onClose = useCallback(() => set({ item: undefined }), [set]);
  const matching = group === undefined ? countIn(job.counts, status ?? ITEM_STATES) : null;

  return (
    <Stack gap="xs">
      <Group gap="xs" justify="space-between">
        <Group gap="xs">
          <StateChips counts={job.counts} chosen={status ?? []} onChange={(states) => set({ status: states.length > 0 ? states : undefined, row: undefined, group: undefined })} />
          {group !== undefined && (
            <FilterPill label="Show all errors, not only one group" onRemove={() => set({ group: undefined })}>
              One group of errors
            </FilterPill>
          )}
        </Group>
        <Group gap="xs">
          <GoToRow onGo={(to) => set({ row: to, sort: undefined, status: undefined, group: undefined })} />
          <Order
            updated={updated}
            forced={filtered ? "Filtered rows are listed by their last change." : null}
            onChange={(on) => set({ sort: on ? "updated" : undefined, row: undefined })}
          />
          <ColumnsMenu columns={all} shown={shown} onChange={(ids) => set({ columns: ids })} />
        </Group>
      </Group>
      <SelectionBar
        picked={picked}
        filter={{ jobId, statuses: group === undefined ? status : undefined, group, userId: "me" }}
        matching={matching}
        owner={job.owner}
        linesOf={(ids) => linesOf(ids, columns)}
        onClear={clear}
      />
      <ItemGrid
        label={`Rows of job ${jobId}`}
        list={list}
        columns={columns}
        total={matching}
        picking={picking}
        open={search.item ?? null}
        onOpen={onOpen}
        onClose={onClose}
        onClear={clear}
        empty={
          filtered ? (
            <Empty
              kind="filtered"
              title="No row matches"
              action={
                <Button variant="default" onClick={() => set({ status: undefined, group: undefined })}>
                  Show all rows
                </Button>
              }
            >
              The job has rows; none of them is in that state now.
            </Empty>
          ) : (
            <Empty kind="nothing" title="No rows yet">
              {job.import !== null ? "They appear here as they are stored." : "Nothing was stored for this job."}
            </Empty>
          )
        }
      />
    </Stack>
  );
}
