import { Paper, SegmentedControl, SimpleGrid, Text } from "@mantine/core";
import { useMemo } from "react";
import { Chart } from "~/blocks/Chart";
import { Loading, Trouble } from "~/blocks/Trouble";
import { count, duration } from "~/blocks/wording";
import { DEFAULT_MINUTES, RANGES, useHistory, type HistoryView } from "./history";

type RangeProps = { minutes: number | undefined; onChange: (minutes: number | undefined) => void };

/** How far back charts go; the address remembers it. */
export function RangeSwitch({ minutes = DEFAULT_MINUTES, onChange }: RangeProps) {
  return (
    <SegmentedControl
      size="xs"
      aria-label="How far back"
      value={String(minutes)}
      data={RANGES.map((one) => ({ value: String(one.minutes), label: one.name }))}
      onChange={(value) => onChange(Number(value) === DEFAULT_MINUTES ? undefined : Number(value))}
    />
  );
}

export function HistoryCharts({ minutes = DEFAULT_MINUTES, pipeline, stage }: { minutes?: number; pipeline?: string; stage?: string }) {
  const found = useHistory(minutes, { pipeline, stage });
  if (found.isPending) return <Loading rows={4} />;
  if (found.isError) return <Trouble error={found.error} again={() => void found.refetch()} />;
  return <Charts history={found.data} single={stage !== undefined} />;
}

function Charts({ history, single }: { history: HistoryView; single: boolean }) {
  const { times, moved, backlog, waits, runs } = useMemo(() => {
    const { points, stepMinutes } = history;
    const perMinute = (value: number) => value / stepMinutes;
    return {
      times: points.map((point) => Date.parse(point.at) / 1000),
      moved: [
        { name: single ? "arrived" : "enqueued", color: "blue" as const, values: points.map((point) => perMinute(point.enqueued)), fill: true },
        { name: "done", color: "green" as const, values: points.map((point) => perMinute(point.done)) },
        { name: "failed", color: "red" as const, values: points.map((point) => perMinute(point.failed)) },
        { name: "tried again", color: "orange" as const, values: points.map((point) => perMinute(point.retried)) },
      ],
      backlog: [
        { name: "waiting", color: "grape" as const, values: points.map((point) => point.waiting), fill: true },
        { name: "running", color: "blue" as const, values: points.map((point) => point.running) },
      ],
      waits: [
        { name: "95 % within", color: "orange" as const, values: points.map((point) => point.waitP95Seconds) },
        { name: "mean", color: "gray" as const, values: points.map((point) => point.waitMeanSeconds) },
        { name: "oldest", color: "red" as const, values: points.map((point) => point.oldestWaitSeconds) },
      ],
      runs: [
        { name: "95 % within", color: "orange" as const, values: points.map((point) => point.runP95Seconds) },
        { name: "mean", color: "gray" as const, values: points.map((point) => point.runMeanSeconds) },
      ],
    };
  }, [history, single]);
  return (
    <SimpleGrid cols={{ base: 1, md: 2 }} spacing="md">
      <Framed>
        <Chart title="Items per minute" times={times} lines={moved} unit={(value) => count(Math.round(value * 10) / 10)} />
      </Framed>
      <Framed>
        <Chart title="Backlog" times={times} lines={backlog} unit={(value) => count(Number(value.toFixed(1)))} />
      </Framed>
      <Framed>
        <Chart title="How long items waited" times={times} lines={waits} unit={duration} least={0.01} />
      </Framed>
      <Framed>
        <Chart title="How long runs took" times={times} lines={runs} unit={duration} least={0.01} />
      </Framed>
      {history.stepMinutes > 1 && (
        <Text size="xs" c="dimmed">
          Each point is {history.stepMinutes} minutes.
        </Text>
      )}
    </SimpleGrid>
  );
}

function Framed({ children }: { children: React.ReactNode }) {
  return (
    <Paper withBorder p="sm" miw={0}>
      {children}
    </Paper>
  );
}
