import { Box, Button, CloseButton, Group, Select, Stack, Text } from "@mantine/core";
import { getRouteApi } from "@tanstack/react-router";
import { RotateCw } from "lucide-react";
import { useCallback, useState } from "react";
import { api, ask, type Schemas } from "~/api/client";
import { usePipelineNames } from "~/api/pipelines";
import { Empty } from "~/blocks/Empty";
import { Everybodys } from "~/blocks/Everybodys";
import { GoTo } from "~/blocks/links";
import { Loading, Trouble } from "~/blocks/Trouble";
import { When } from "~/blocks/When";
import { Grid, type Column } from "~/grid/Grid";
import { useWindow, type FetchPage } from "~/grid/useWindow";
import { ItemDrawer } from "~/screens/job/ItemDrawer";
import { Allowed } from "~/shell/Allowed";
import { useMe, useWhose } from "~/shell/me";
import { ReplayDialog } from "./ReplayDialog";

type Letter = Schemas["DeadLetter"];

const route = getRouteApi("/dead-letters");
const idOf = (letter: Letter) => letter.itemId;

const COLUMNS: Column<Letter>[] = [
  { id: "item", header: "Item", width: 90, cell: (row) => <span className="numbers">{row.itemId}</span> },
  { id: "stage", header: "Stage", width: 180, cell: (row) => <span title={stageOf(row)}>{stageOf(row)}</span> },
  { id: "error", header: "Error", width: 420, cell: (row) => <span title={row.message ?? undefined}>{row.message ?? row.errorType ?? "–"}</span> },
  { id: "attempts", header: "Attempts", width: 90, align: "right", cell: (row) => row.attempts },
  { id: "when", header: "Failed", width: 130, cell: (row) => <When at={row.failedAt} /> },
  {
    id: "job",
    header: "Job",
    width: 90,
    cell: (row) =>
      row.jobId === null ? (
        "–"
      ) : (
        <GoTo to="/jobs/$jobId" params={{ jobId: String(row.jobId) }}>
          {row.jobId}
        </GoTo>
      ),
  },
  { id: "input", header: "Input", width: 320, cell: (row) => row.inputSummary },
];
const OWNER: Column<Letter> = { id: "owner", header: "Owner", width: 120, cell: (row) => row.owner ?? "–" };

function stageOf(row: Letter): string {
  return row.stage === row.pipeline || row.stage === "" ? row.pipeline : `${row.pipeline}/${row.stage}`;
}

export function Letters() {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const admin = useMe().role === "admin";
  const [asking, setAsking] = useState(false);
  const { pipeline, group } = search;
  const userId = useWhose(search.everybody);
  const fetchPage: FetchPage<Letter> = useCallback(
    async ({ after }, pageSize, signal) => {
      const page = await ask(api.GET("/api/dead-letters", { params: { query: { pipeline, group, userId, after, pageSize } }, signal }));
      // The list goes one way only: a place at its start is named, never asked for.
      return { items: page.items, startCursor: after ?? "start", endCursor: page.nextCursor ?? "end", more: page.nextCursor !== null };
    },
    [pipeline, group, userId],
  );
  const list = useWindow({ listKey: JSON.stringify([pipeline, group, userId]), fetchPage, idOf, most: Infinity });
  const change = (changed: Partial<typeof search>) => void navigate({ search: (was) => ({ ...was, ...changed }), replace: true });
  const go = (item: number | undefined) => void navigate({ search: (was) => ({ ...was, item }) });
  const filtered = pipeline !== undefined || group !== undefined;
  return (
    <Stack>
      <Filters pipeline={pipeline} group={group} everybody={search.everybody} change={change}>
        <Button variant="default" onClick={list.restart}>
          Look again
        </Button>
        <Allowed role="operator" unless={list.rows.length === 0 ? "There is nothing to run again." : null}>
          <Button leftSection={<RotateCw size={14} aria-hidden />} onClick={() => setAsking(true)}>
            Run all that match again
          </Button>
        </Allowed>
      </Filters>
      {list.error !== null && list.rows.length === 0 ? (
        <Trouble error={list.error} again={list.restart} />
      ) : list.cold ? (
        <Loading />
      ) : list.rows.length === 0 && list.last ? (
        <Empty
          kind={filtered ? "filtered" : "nothing"}
          title={filtered ? "No failed item matches" : "Nothing failed"}
          action={
            filtered && (
              <Button variant="default" onClick={() => change({ pipeline: undefined, group: undefined })}>
                Show all
              </Button>
            )
          }
        >
          {admin && !search.everybody ? "These are your own items; switch to everybody's to see those of others." : "Items that fail for good appear here."}
        </Empty>
      ) : (
        <Grid
          label="Failed items"
          rows={list.rows}
          columns={search.everybody ? [...COLUMNS, OWNER] : COLUMNS}
          idOf={idOf}
          open={search.item ?? null}
          onOpen={(row) => go(row.itemId)}
          first
          last={list.last}
          onMore={(side) => side === "after" && list.more("after")}
        />
      )}
      {search.item !== undefined && <ItemDrawer itemId={search.item} onClose={() => go(undefined)} onGo={go} />}
      {asking && (
        <ReplayDialog
          title="Run failed items again"
          matching={{ pipeline, group, userId }}
          onClose={() => {
            setAsking(false);
            list.restart();
          }}
        />
      )}
    </Stack>
  );
}

type FiltersProps = {
  pipeline?: string;
  group?: string;
  everybody?: true;
  change: (changed: { pipeline?: string; group?: string; everybody?: true }) => void;
  children: React.ReactNode;
};

function Filters({ pipeline, group, everybody, change, children }: FiltersProps) {
  const names = usePipelineNames(pipeline);
  return (
    <Group gap="sm" align="flex-end" justify="space-between">
      <Group gap="sm" align="flex-end">
        <Select
          label="Pipeline"
          placeholder="All"
          clearable
          searchable
          clearButtonProps={{ "aria-label": "All pipelines" }}
          data={names}
          value={pipeline ?? null}
          onChange={(value) => change({ pipeline: value ?? undefined })}
        />
        {group !== undefined && (
          <Group gap={4} pb={6}>
            <Text size="sm">One kind of error</Text>
            <CloseButton size="sm" aria-label="All kinds of errors" onClick={() => change({ group: undefined })} />
          </Group>
        )}
        <Box pb={8}>
          <Everybodys checked={everybody} onChange={(chosen) => change({ everybody: chosen })} />
        </Box>
      </Group>
      <Group gap="xs">{children}</Group>
    </Group>
  );
}
