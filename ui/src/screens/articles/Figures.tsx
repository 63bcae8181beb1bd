import { Alert, Card, Group, Progress, Stack, Text } from "@mantine/core";
import { TriangleAlert } from "lucide-react";
import type { ReactNode } from "react";
import type { Schemas } from "~/api/client";
import { Facts } from "~/blocks/Facts";
import { GoTo } from "~/blocks/links";
import { StateBadge } from "~/blocks/StateBadge";
import { When } from "~/blocks/When";
import { count, duration, many, milliseconds, percent, rate } from "~/blocks/wording";
import classes from "./articles.module.css";
import { useEmbeddingStage } from "./IndexChip";

/** The index in four cards, and above them what somebody should look at. */
export function Figures({ index }: { index: Schemas["IndexBody"] }) {
  const { coverage, breakdown, queue, freshness, alerts, enabled } = index;
  const found = coverage.indexed + coverage.stale;
  return (
    <Stack gap="sm">
      {alerts.map((alert) => (
        <Alert key={alert.kind} color="red" icon={<TriangleAlert aria-hidden />} p="xs" data-alert={alert.kind}>
          <span className="stored">{alert.sentence}</span> Since <When at={alert.openedAt} />.
        </Alert>
      ))}
      {!enabled && (
        <Alert color="gray" p="xs">
          The queue is switched off here (PENSTOCK_ARTICLES_ENABLED): articles are embedded in the request that saves them.
        </Alert>
      )}
      <div className={classes.cards}>
        <Figure title="Coverage">
          <Text fz={26} fw={650} className="numbers" data-figure="indexed">
            {count(coverage.indexed)} <Text span c="dimmed">of {many(coverage.total, "article")}</Text>
          </Text>
          <Progress.Root size="sm" role="img" aria-label={`${percent(coverage.total === 0 ? 1 : found / coverage.total)} found by meaning`} my={4}>
            <Progress.Section value={(coverage.indexed / Math.max(1, coverage.total)) * 100} color="green" withAria={false} />
            <Progress.Section value={(coverage.stale / Math.max(1, coverage.total)) * 100} color="orange" withAria={false} />
          </Progress.Root>
          <Text size="sm" c="dimmed" className="numbers">
            {count(coverage.stale)} stale · {count(breakdown.waiting)} waiting · {count(breakdown.failed)} failed · {count(breakdown.missing)} not asked for
          </Text>
          <Text size="sm" c="dimmed" className="stored">
            Generation {coverage.generation}
          </Text>
        </Figure>
        <Figure title="Embedding tasks">
          <Facts
            rows={[
              ["Waiting", count(queue.pending)],
              ["Running", count(queue.processing)],
              ["Completed", count(queue.completed)],
              ["Failed", queue.failed === 0 ? "0" : <FailedLink key="failed" failed={queue.failed} />],
              ["Cancelled", count(queue.cancelled)],
            ]}
          />
        </Figure>
        <WorkerCard worker={index.worker} />
        <Figure title="Freshness">
          <Text fz={26} fw={650} className="numbers">
            {milliseconds(freshness.p50Ms)} <Text span c="dimmed">half of them</Text>
          </Text>
          <Text className="numbers">
            {milliseconds(freshness.p95Ms)} <Text span c="dimmed">95 of 100</Text>
          </Text>
          <Text size="sm" c="dimmed">
            From a save until its text is found by meaning; {many(freshness.measured, "article")} of the last 24 hours.
          </Text>
        </Figure>
      </div>
    </Stack>
  );
}

function Figure({ title, children, badge }: { title: string; children: ReactNode; badge?: ReactNode }) {
  return (
    <Card withBorder padding="sm" component="section" aria-label={title}>
      <Group justify="space-between" mb={4}>
        <Text fw={600} size="sm">
          {title}
        </Text>
        {badge}
      </Group>
      {children}
    </Card>
  );
}

function FailedLink({ failed }: { failed: number }) {
  return (
    <GoTo to="/index" search={{ tab: "tasks", status: "failed" }} size="sm">
      {count(failed)}
    </GoTo>
  );
}

/** Who embeds, how fast, and what holds it up. */
function WorkerCard({ worker }: { worker: Schemas["WorkerStatistics"] }) {
  const stage = useEmbeddingStage();
  const paused = stage?.pausedAt != null;
  const [state, word] = paused ? ["PAUSED", "Paused"] : worker.running ? ["RUNNING", "At work"] : ["ERROR", "No worker"];
  return (
    <Figure title="Worker" badge={<StateBadge state={state} word={word} />}>
      <Facts
        rows={[
          ["Paused by", paused ? `${stage.pausedBy ?? "somebody"}${stage.pauseReason ? `: ${stage.pauseReason}` : ""}` : null],
          ["Last 24 hours", `${count(worker.succeeded)} done, ${count(worker.failed)} failed`],
          ["One takes", worker.averageMs === null ? "–" : milliseconds(worker.averageMs)],
          ["Last one", <When key="last" at={worker.lastProcessedAt} />],
          ["Backlog", stage && stage.waiting > 0 ? `${count(stage.waiting)}, ${stage.etaSeconds === null ? "no pace yet" : `${duration(stage.etaSeconds)} at ${rate(stage.endedPerSecond)}`}` : null],
          [
            "At one time",
            <GoTo key="stage" to="/stages/$pipeline/$stage" params={{ pipeline: "articles", stage: "articles" }} size="sm">
              {stage?.maxRunning == null ? "no limit" : count(stage.maxRunning)}
            </GoTo>,
          ],
        ]}
      />
    </Figure>
  );
}
