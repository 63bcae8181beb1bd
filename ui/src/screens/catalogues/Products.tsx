import { Chip, Group, Stack, Text, Title } from "@mantine/core";
import { getRouteApi } from "@tanstack/react-router";
import { useCallback } from "react";
import { api, ask, type Schemas } from "~/api/client";
import { Empty } from "~/blocks/Empty";
import { NewPill } from "~/blocks/NewPill";
import { ItemState } from "~/blocks/StateBadge";
import { Loading, Trouble } from "~/blocks/Trouble";
import { count, looksAgain, stateWord } from "~/blocks/wording";
import { Grid, type Column } from "~/grid/Grid";
import { idOfItem } from "../job/gridRows";
import { useItemList } from "../job/useItemList";
import { shown } from "./quality";
import { PRODUCT_STATES } from "./search";

type Item = Schemas["ItemBody"];
type Counts = Schemas["Counts"];

const route = getRouteApi("/catalogues/$jobId");
const KEYS: Record<(typeof PRODUCT_STATES)[number], keyof Counts> = {
  DONE: "done",
  NOT_FOUND: "notFound",
  ERROR: "error",
  SKIPPED: "skipped",
  PENDING: "pending",
  PROCESSING: "processing",
  CANCELLED: "cancelled",
};

const COLUMNS: Column<Item>[] = [
  { id: "row", header: "Row", width: 70, align: "right", cell: (item) => (item.row === null ? "–" : count(item.row)) },
  { id: "status", header: "State", width: 145, cell: (item) => <ItemState item={item} /> },
  { id: "given", header: "Given", width: 260, grows: true, twoLines: true, cell: (item) => Object.values(item.inputSummary).filter(Boolean).join(" · ") },
  { id: "found", header: "Found", width: 260, twoLines: true, cell: (item) => resultOf(item, "Matched title") ?? looksAgain(item) ?? item.error?.message ?? item.why ?? "" },
  { id: "price", header: "Price", width: 110, align: "right", cell: (item) => [resultOf(item, "Price"), resultOf(item, "Currency")].filter(Boolean).join(" ") },
  { id: "match", header: "Match", width: 110, cell: (item) => resultOf(item, "Match") ?? "" },
  { id: "score", header: "Score", width: 80, align: "right", cell: (item) => resultOf(item, "Score") ?? "" },
];

function resultOf(item: Item, column: string): string | null {
  const result: unknown = item.result;
  if (typeof result !== "object" || result === null) return null;
  const values = ("columns" in result ? result.columns : result) as Record<string, unknown> | null;
  const value = values?.[column];
  return value === null || value === undefined ? null : shown(value);
}

/** The rows of the list; one of them opened tells where its values came from. */
export function Products({ jobId, total, counts }: { jobId: number; total: number; counts: Counts }) {
  const { status, item: open } = route.useSearch();
  const navigate = route.useNavigate();
  const wanted = status?.join(",");
  const askPage = useCallback(
    (where: { after?: string; before?: string }, pageSize: number, signal: AbortSignal) => {
      const order = wanted ? ({ sort: "-updatedAt", statuses: wanted } as const) : ({ sort: "row" } as const);
      return ask(api.GET("/api/jobs/{jobId}/items", { params: { path: { jobId }, query: { ...where, ...order, pageSize } }, signal }));
    },
    [jobId, wanted],
  );
  const concerns = useCallback((changed: number) => changed === jobId, [jobId]);
  const { grid: list, see, fresh, news } = useItemList({ listKey: `${jobId} ${wanted ?? ""}`, ask: askPage, frozen: wanted !== undefined, concerns });

  const shownStates = PRODUCT_STATES.filter((one) => counts[KEYS[one]] > 0 || status?.includes(one));
  // In the order of the file, rows are stored behind the last one.
  const waiting = status ? news : list.first && list.last ? total - list.rows.length : 0;
  return (
    <Stack gap="xs">
      <Group justify="space-between">
        <Title order={2} size="h3">
          Products
        </Title>
        <Chip.Group
          multiple
          value={status ?? []}
          onChange={(value) => {
            const chosen = PRODUCT_STATES.filter((one) => value.includes(one));
            void navigate({ search: (was) => ({ ...was, status: chosen.length > 0 ? chosen : undefined }) });
          }}
        >
          <Group gap={6} role="group" aria-label="Only those that are">
            {shownStates.map((one) => (
              <Chip key={one} value={one} size="xs">
                {stateWord(one)} {count(counts[KEYS[one]])}
              </Chip>
            ))}
          </Group>
        </Chip.Group>
      </Group>
      <NewPill waiting={waiting} onShow={list.restart} />
      {list.cold && list.error === null ? (
        <Loading />
      ) : list.error !== null ? (
        <Trouble error={list.error} again={list.restart} />
      ) : list.rows.length === 0 ? (
        status ? (
          <Empty kind="filtered" title={`No product is ${status.map((one) => stateWord(one).toLowerCase()).join(" or ")}`} />
        ) : (
          <Empty kind="nothing" title="No rows are stored yet">
            They appear here as they are stored.
          </Empty>
        )
      ) : (
        <>
          <Grid
            label="Products"
            rows={list.rows}
            columns={COLUMNS}
            idOf={idOfItem}
            fresh={fresh}
            total={status ? null : total}
            open={open}
            onOpen={(item) => void navigate({ search: (was) => ({ ...was, item: item.itemId }) })}
            first={list.first}
            last={list.last}
            onMore={list.more}
            onVisible={see}
            height={`min(60vh, ${Math.max(4, Math.min(list.rows.length, 15)) * 36 + 54}px)`}
          />
          <Text size="xs" c="dimmed">
            Enter opens a product: which provider gave which value, and what the others said.
          </Text>
        </>
      )}
    </Stack>
  );
}
