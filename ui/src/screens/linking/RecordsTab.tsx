import { Button, Chip, Group, NumberInput, Stack, Text } from "@mantine/core";
import { getRouteApi } from "@tanstack/react-router";
import { RotateCw, StickyNote } from "lucide-react";
import { useCallback, useEffect, useEffectEvent, useMemo, useRef, useState } from "react";
import { api, ask } from "~/api/client";
import { Empty } from "~/blocks/Empty";
import { Loading, Trouble } from "~/blocks/Trouble";
import { When } from "~/blocks/When";
import { count, many } from "~/blocks/wording";
import { Grid, type Column } from "~/grid/Grid";
import { useWindow, type FetchPage } from "~/grid/useWindow";
import type { LinkRecord, Project } from "./projects";
import { nameColumn } from "./roles";
import { RECORD_STATES } from "./routes";
import { RecordBadge, recordWord } from "./Standing";
import { score } from "./waterfall";

const route = getRouteApi("/linking/$projectId");
const MOST_PATCHED = 100;
const idOf = (record: LinkRecord) => record.number;

/** Every record, in the order of the dataset. What is on screen follows the project; the rest is fetched as one scrolls. */
export function RecordsTab({ project, updatedAt }: { project: Project; updatedAt: number }) {
  const { status, from, record } = route.useSearch();
  const navigate = route.useNavigate();
  const { projectId } = project;
  const fetchPage: FetchPage<LinkRecord> = useCallback(
    async (where, size, signal) => {
      const first = where.after === undefined && where.before === undefined;
      const query = { pageSize: size, status, ...where, fromNumber: first ? from : undefined };
      const page = await ask(api.GET("/api/projects/{projectId}/records", { params: { path: { projectId }, query }, signal }));
      return {
        items: page.items,
        startCursor: page.startCursor,
        endCursor: page.endCursor,
        more: (where.before === undefined ? page.nextCursor : page.previousCursor) !== null,
        before: page.previousCursor !== null,
      };
    },
    [projectId, status, from],
  );
  const list = useWindow({ listKey: JSON.stringify([projectId, status, from]), fetchPage, idOf });
  const matching = status ? status.reduce((sum, state) => sum + (project.progress.counts[state] ?? 0), 0) : project.progress.total;
  const visible = useFollowing(projectId, updatedAt, list.patch);
  const changed = useChangedSince(JSON.stringify([status, from, list.cold]), matching);
  const columns = useColumns(project);
  const open = useCallback((row: LinkRecord) => void navigate({ search: (was) => ({ ...was, record: row.number }) }), [navigate]);

  return (
    <Stack gap="sm">
      <Filters project={project} />
      {changed !== 0 && !list.cold && (
        <Group>
          <Button
            size="xs"
            variant="light"
            leftSection={<RotateCw size={14} aria-hidden />}
            onClick={() => {
              list.restart();
              changed.forget();
            }}
          >
            {changed.by > 0 ? `${count(changed.by)} more match now` : `${count(-changed.by)} no longer match`}: show the list anew
          </Button>
        </Group>
      )}
      {list.error !== null && <Trouble error={list.error} again={list.restart} />}
      {list.cold ? (
        list.error === null && <Loading />
      ) : list.rows.length === 0 ? (
        status || from ? (
          <Empty
            kind="filtered"
            title="No record is like this"
            action={
              <Button variant="default" onClick={() => void navigate({ search: {} })}>
                Show all records
              </Button>
            }
          >
            The project has {many(project.progress.total, "record")} in other states or rows.
          </Empty>
        ) : (
          <Empty kind="nothing" title="No records" />
        )
      ) : (
        <Grid
          label="Records"
          rows={list.rows}
          columns={columns}
          idOf={idOf}
          total={status ? null : project.progress.total}
          open={record ?? null}
          onOpen={open}
          first={list.first}
          last={list.last}
          onMore={list.more}
          onVisible={visible}
        />
      )}
    </Stack>
  );
}

function Filters({ project }: { project: Project }) {
  const { status, from } = route.useSearch();
  const navigate = route.useNavigate();
  const { counts } = project.progress;
  const shown = RECORD_STATES.filter((state) => counts[state] || status?.includes(state));
  return (
    <Group gap="xs" align="flex-end" justify="space-between">
      <Chip.Group
        multiple
        value={status ?? []}
        onChange={(value: string[]) => {
          const wanted = RECORD_STATES.filter((state) => value.includes(state));
          void navigate({ search: (was) => ({ ...was, status: wanted.length > 0 ? wanted : undefined }), replace: true });
        }}
      >
        <Group gap={6} role="group" aria-label="Only these states">
          {shown.map((state) => (
            <Chip key={state} value={state} size="xs" variant="outline">
              {recordWord(state)} {count(counts[state])}
            </Chip>
          ))}
        </Group>
      </Chip.Group>
      <NumberInput
        size="xs"
        w={130}
        label="From row"
        min={1}
        max={project.progress.total}
        allowDecimal={false}
        value={from ?? ""}
        onChange={(value) => void navigate({ search: (was) => ({ ...was, from: typeof value === "number" && value > 1 ? value : undefined }), replace: true })}
      />
    </Group>
  );
}

function useColumns(project: Project): Column<LinkRecord>[] {
  const name = nameColumn(project.roles);
  const columns = JSON.stringify(project.columns);
  return useMemo(() => {
    const others = (JSON.parse(columns) as string[]).filter((one) => one !== name).slice(0, 2);
    return [
      { id: "number", header: "Row", width: 62, align: "right", cell: (row) => row.number },
      { id: "name", header: name ?? "Name", width: 180, grows: true, twoLines: true, cell: (row) => (name === null ? "" : (row.cells[name] ?? "–")) },
      { id: "state", header: "State", width: 150, cell: (row) => <RecordBadge state={row.state} /> },
      { id: "score", header: "Score", width: 70, align: "right", cell: (row) => score(row.score) },
      {
        id: "candidate",
        header: "Best candidate",
        width: 230,
        twoLines: true,
        cell: (row) => (row.entity === null ? (row.error ?? "–") : `${row.label ?? ""} (${row.entity})`),
      },
      { id: "gap", header: "Ahead by", width: 90, align: "right", cell: (row) => score(row.gap) },
      { id: "decided", header: "Decided by", width: 130, cell: (row) => (row.decidedAt === null ? "–" : (row.decidedBy ?? "its score")) },
      { id: "when", header: "When", width: 120, cell: (row) => (row.decidedAt === null ? "–" : <When at={row.decidedAt} />) },
      {
        id: "note",
        header: "Note",
        width: 160,
        cell: (row) =>
          row.note && (
            <>
              <StickyNote size={12} aria-hidden /> {row.note}
            </>
          ),
      },
      ...others.map((column): Column<LinkRecord> => ({ id: `cell ${column}`, header: <Text span inherit truncate>{column}</Text>, width: 140, cell: (row) => row.cells[column] ?? "" })),
    ];
  }, [name, columns]);
}

/** Rows on screen are asked again whenever the project was: cells change, no row moves. */
function useFollowing(projectId: number, updatedAt: number, patch: (rows: LinkRecord[]) => void): (ids: (number | string)[]) => void {
  const shown = useRef<number[]>([]);
  const first = useRef(updatedAt);
  const follow = useEffectEvent(async () => {
    const number = shown.current.slice(0, MOST_PATCHED);
    if (number.length === 0) return;
    const page = await ask(api.GET("/api/projects/{projectId}/records", { params: { path: { projectId }, query: { number } } })).catch(() => null);
    if (page) patch(page.items);
  });
  useEffect(() => {
    if (first.current !== updatedAt) void follow();
  }, [updatedAt]);
  return useCallback((ids) => {
    shown.current = ids.map(Number);
  }, []);
}

/** How many more or fewer records match than when the list began; 0: as many. */
function useChangedSince(list: string, now: number): 0 | { by: number; forget: () => void } {
  const [began, setBegan] = useState({ list, count: now });
  if (began.list !== list) setBegan({ list, count: now });
  const by = now - began.count;
  const forget = () => setBegan({ list, count: now });
  return by === 0 || began.list !== list ? 0 : { by, forget };
}
