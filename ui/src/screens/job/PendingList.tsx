import { Button, Group, Select, Stack, TextInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useCallback, useMemo, useState, type ReactNode } from "react";
import { api, ask, type Schemas } from "~/api/client";
import { Empty } from "~/blocks/Empty";
import { fromField, toField } from "~/blocks/timeField";
import { useLive } from "~/live/live";
import { useMe } from "~/shell/me";
import { StateChips, type ItemState } from "./GridTools";
import { linesOf } from "./gridCopy";
import type { Item, ItemJob, ItemPage } from "./gridRows";
import { ItemGrid } from "./ItemGrid";
import { pendingColumns } from "./pendingColumns";
import { OPEN } from "./routes";
import { countOf, EVERYTHING } from "./selection";
import { SelectionBar, type Filter } from "./SelectionBar";
import { useItemList } from "./useItemList";
import { usePicked } from "./usePicked";

export type PendingSearch = { status?: ItemState[]; since?: string; until?: string; item?: number };

type Props = {
  label: string;
  /** Of what list this is, without statuses and times. */
  scope: string;
  ask: (query: { statuses: string; since?: string; until?: string; after?: string; before?: string; pageSize: number }, signal: AbortSignal) => Promise<ItemPage>;
  /** Set: of this job only. */
  job?: Schemas["JobDetail"];
  filter: Filter;
  search: PendingSearch;
  onSearch: (changes: PendingSearch) => void;
  /** Further fields to narrow it by. */
  further?: ReactNode;
  /** Whether one of them is in use. */
  narrowed: boolean;
  onShowAll: () => void;
};

/** What is still to be done, longest waiting first, with why it waits. */
export function PendingList({ label, scope, ask: askFor, job, filter, search, onSearch, further, narrowed, onShowAll }: Props) {
  const chosen: readonly ItemState[] = search.status ?? OPEN;
  const statuses = chosen.join(",");
  const since = fromField(search.since);
  const until = fromField(search.until);
  const listKey = JSON.stringify([scope, statuses, since, until]);
  const [jobs, setJobs] = useState<ReadonlyMap<number, ItemJob>>(new Map());
  const learn = useCallback((found: ItemJob[]) => setJobs((was) => new Map([...was, ...found.map((one) => [one.jobId, one] as const)])), []);

  const askPage = useCallback(
    async (where: { after?: string; before?: string }, pageSize: number, signal: AbortSignal) => {
      const page = await askFor({ statuses, since, until, ...where, pageSize }, signal);
      if (page.jobs.length > 0) learn(page.jobs);
      return page;
    },
    [askFor, statuses, since, until, learn],
  );
  const jobId = job?.jobId;
  const concerns = useCallback((changed: number) => jobId === undefined || changed === jobId, [jobId]);
  const list = useItemList({ listKey, ask: askPage, frozen: false, concerns, onJobs: jobId === undefined ? learn : undefined });
  const { grid } = list;
  // What changes now has waited least: it is added behind the end of the list.
  useLive((event) => {
    if (!grid.last || (event.kind !== "reset" && !(event.kind === "job" && concerns(event.jobId)))) return;
    if (grid.rows.length === 0) grid.restart();
    else grid.more("after");
  });
  const columns = useMemo(() => pendingColumns(jobId === undefined ? jobs : null), [jobId, jobs]);
  const { picked, picking, clear } = usePicked(listKey, list.ids);
  const meant = useMemo<Filter>(() => ({ ...filter, statuses: [...chosen], since, until }), [filter, chosen, since, until]);
  const matching = useMatching(picked.all, meant);
  const onOpen = useCallback((item: Item) => onSearch({ item: item.itemId }), [onSearch]);
  const onClose = useCallback(() => onSearch({ item: undefined }), [onSearch]);
  const filtered = narrowed || search.status !== undefined || search.since !== undefined || search.until !== undefined;

  return (
    <Stack gap="xs">
      <Group gap="sm" align="flex-end">
        <StateChips counts={job?.counts ?? null} chosen={chosen} onChange={(states) => onSearch({ status: states.length === 0 || same(states) ? undefined : states })} />
        {further}
        <TextInput size="xs" type="datetime-local" label="Changed from" value={toField(search.since)} onChange={(event) => onSearch({ since: fromField(event.currentTarget.value) })} />
        <TextInput size="xs" type="datetime-local" label="Changed before" value={toField(search.until)} onChange={(event) => onSearch({ until: fromField(event.currentTarget.value) })} />
      </Group>
      <SelectionBar picked={picked} filter={meant} matching={matching} owner={job?.owner} linesOf={(ids) => linesOf(ids, columns)} onClear={clear} />
      <ItemGrid
        label={label}
        list={list}
        columns={columns}
        total={null}
        picking={picking}
        open={search.item ?? null}
        onOpen={onOpen}
        onClose={onClose}
        onClear={clear}
        empty={
          filtered ? (
            <Empty
              kind="filtered"
              title="Nothing matches"
              action={
                <Button variant="default" onClick={onShowAll}>
                  Show all that is open
                </Button>
              }
            >
              The filters above hide what there is.
            </Empty>
          ) : (
            <Empty kind="nothing" title="Nothing waits">
              {job ? "Every item of this job has ended." : "Every item of your jobs has ended. What is uploaded next appears here until it is done."}
            </Empty>
          )
        }
      />
    </Stack>
  );
}

function same(states: readonly ItemState[]): boolean {
  return states.length === OPEN.length && OPEN.every((state) => states.includes(state));
}

/** How many match, asked when somebody picks all. The answer is a selection, which nobody has to use. */
function useMatching(all: boolean, filter: Filter): number | null {
  const may = useMe().role !== "viewer";
  const found = useQuery({
    queryKey: ["selection", "count", filter],
    enabled: all && may,
    gcTime: 0,
    queryFn: ({ signal }) => ask(api.POST("/api/selections", { body: { filter }, signal })),
  });
  return found.data && !found.data.estimate ? countOf(EVERYTHING, found.data.count) : null;
}

export function TypeSelect({ value, onChange }: { value?: string; onChange: (type: string | undefined) => void }) {
  return (
    <Select
      size="xs"
      w={130}
      label="Job type"
      placeholder="Any"
      clearable
      value={value ?? null}
      onChange={(type) => onChange(type ?? undefined)}
      data={[
        { value: "csv", label: "CSV" },
        { value: "xlsx", label: "XLSX" },
        { value: "images", label: "Images" },
        { value: "rows", label: "Rows" },
      ]}
    />
  );
}
