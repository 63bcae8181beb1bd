import { Button, Group, SegmentedControl, Stack } from "@mantine/core";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useState } from "react";
import { api, ask, type Schemas } from "~/api/client";
import { Empty } from "~/blocks/Empty";
import { Everybodys } from "~/blocks/Everybodys";
import { GoTo } from "~/blocks/links";
import { StateBadge } from "~/blocks/StateBadge";
import { Loading, Trouble } from "~/blocks/Trouble";
import { When } from "~/blocks/When";
import { ago, count, sentence } from "~/blocks/wording";
import { Grid, type Column } from "~/grid/Grid";
import { useWindow, type FetchPage } from "~/grid/useWindow";
import { useWhose } from "~/shell/me";
import { useArticleEvents } from "./articleEvents";
import { STATUSES } from "./routes";

type Task = Schemas["EmbeddingTask"];
type Status = Task["status"];

const LOOKS: Record<Status, [string, string]> = {
  pending: ["PENDING", "Waiting"],
  processing: ["PROCESSING", "Running"],
  completed: ["DONE", "Completed"],
  failed: ["ERROR", "Failed"],
  cancelled: ["CANCELLED", "Cancelled"],
};
const idOf = (task: Task) => task.taskId;
const LOOKED_AT = 100;

const COLUMNS: Column<Task>[] = [
  {
    id: "task",
    header: "Task",
    width: 80,
    cell: (task) => (
      <GoTo to="/items/$itemId" params={{ itemId: String(task.taskId) }} size="sm">
        {task.taskId}
      </GoTo>
    ),
  },
  {
    id: "article",
    header: "Article",
    width: 180,
    cell: (task) =>
      task.slug === null ? (
        <span className="quiet">deleted</span>
      ) : (
        <GoTo to="/articles/$slug" params={{ slug: task.slug }} size="sm">
          {task.slug}
        </GoTo>
      ),
  },
  {
    id: "status",
    header: "Status",
    width: 150,
    cell: (task) => {
      const [look, word] = LOOKS[task.status];
      return <StateBadge state={task.status} look={task.skipped ? "SKIPPED" : look} word={task.skipped ? "Not needed" : word} />;
    },
  },
  { id: "why", header: "Why", width: 250, cell: (task) => <span title={whyOf(task)}>{whyOf(task)}</span> },
  { id: "attempts", header: "Tries", width: 70, align: "right", cell: (task) => `${task.attempts}/${task.maxAttempts}` },
  { id: "operation", header: "For", width: 90, cell: (task) => sentence(task.operation) },
  { id: "generation", header: "Generation", width: 110, cell: (task) => task.generation ?? <span className="quiet">dropped</span> },
  { id: "created", header: "Queued", width: 110, cell: (task) => <When at={task.createdAt} /> },
];

function whyOf(task: Task): string {
  if (task.error !== null) return [task.error, task.advice].filter(Boolean).join(" ");
  if (task.status === "pending" && task.nextRunAt !== null) return Date.parse(task.nextRunAt) > Date.now() ? `Due ${ago(task.nextRunAt)}` : "Waits for its turn";
  const reason = task.result?.reason;
  return typeof reason === "string" ? reason : "";
}

/** Embedding tasks, newest first. Known ones change in place; new ones wait behind a pill. */
export function Tasks({ counts }: { counts: Schemas["QueueCounts"] }) {
  const { status, everybody } = useSearch({ from: "/index" });
  const navigate = useNavigate({ from: "/index" });
  const userId = useWhose(everybody);
  const [fresh, setFresh] = useState(0);
  const [round, setRound] = useState(0);

  const fetchPage: FetchPage<Task> = async ({ after }, pageSize, signal) => {
    const page = await ask(api.GET("/api/article-index/tasks", { params: { query: { status, userId, after, pageSize } }, signal }));
    // The list only goes on towards older ones: its start is never asked for.
    return { items: page.items, startCursor: page.items.length > 0 ? "start" : null, endCursor: page.nextCursor, more: page.nextCursor !== null };
  };
  const listKey = `${status} ${userId}`;
  const window = useWindow<Task>({ listKey, fetchPage, idOf, most: Infinity });
  const [counted, setCounted] = useState(listKey);
  if (counted !== listKey) {
    setCounted(listKey);
    setFresh(0);
  }
  useArticleEvents(async () => {
    const look = (status: Status | undefined) => ask(api.GET("/api/article-index/tasks", { params: { query: { status, userId, pageSize: LOOKED_AT } } }));
    const newest = (await look(undefined)).items;
    window.patch(newest);
    const matching = status === undefined ? newest : (await look(status)).items;
    const known = new Set(window.rows.map(idOf));
    const highest = Math.max(0, ...known);
    if (window.rows.length === 0 && matching.length > 0) window.restart();
    else setFresh(matching.filter((task) => !known.has(task.taskId) && task.taskId > highest).length);
  });

  return (
    <Stack gap="sm">
      <Group gap="sm">
        <SegmentedControl
          size="xs"
          aria-label="Status"
          value={status ?? "any"}
          data={[{ value: "any", label: "Any" }, ...STATUSES.map((one) => ({ value: one, label: `${LOOKS[one][1]} ${count(counts[one])}` }))]}
          onChange={(value) => void navigate({ search: (was) => ({ ...was, status: STATUSES.find((one) => one === value) }) })}
          style={{ overflowX: "auto", maxWidth: "100%" }}
        />
        <Everybodys checked={everybody} onChange={(chosen) => void navigate({ search: (was) => ({ ...was, everybody: chosen }) })} />
        {fresh > 0 && (
          <Button
            size="compact-sm"
            radius="xl"
            onClick={() => {
              setFresh(0);
              setRound(round + 1);
              window.restart();
            }}
          >
            {fresh >= LOOKED_AT ? `${LOOKED_AT} or more` : fresh} new
          </Button>
        )}
      </Group>
      {window.cold && window.error === null ? (
        <Loading />
      ) : window.error !== null && window.rows.length === 0 ? (
        <Trouble error={window.error} again={window.restart} />
      ) : window.rows.length === 0 ? (
        <Empty kind={status === undefined ? "nothing" : "filtered"} title={status === undefined ? "No embedding tasks yet" : `No tasks that are ${LOOKS[status][1].toLowerCase()}`}>
          {userId === "me" ? "These are the tasks of your own articles; the figures above are those of everybody." : null}
        </Empty>
      ) : (
        <Grid
          key={`${listKey} ${round}`}
          label="Embedding tasks"
          rows={window.rows}
          columns={COLUMNS}
          idOf={idOf}
          first={window.first}
          last={window.last}
          onMore={window.more}
          height="min(60vh, 560px)"
          onOpen={(task) => void navigate({ to: "/items/$itemId", params: { itemId: String(task.taskId) } })}
        />
      )}
    </Stack>
  );
}
