import { Alert, Paper, Stack, Text, Timeline, Title } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import {
  Ban,
  CircleCheck,
  CirclePause,
  CirclePlay,
  Database,
  Download,
  FileWarning,
  Flag,
  PhoneOutgoing,
  Plus,
  RotateCcw,
  TriangleAlert,
  Zap,
  type LucideIcon,
} from "lucide-react";
import { useMemo } from "react";
import { api, ask, type Schemas } from "~/api/client";
import { Chart } from "~/blocks/Chart";
import { GoTo } from "~/blocks/links";
import { Loading, Trouble } from "~/blocks/Trouble";
import { count, moment } from "~/blocks/wording";
import { SlicePanel } from "./SlicePanel";
import { series } from "./timeline";
import type { JobDetail } from "./useJob";

type Event = Schemas["JobEvent"];

const LOOKS: Record<Event["what"], [LucideIcon, string, string]> = {
  created: [Plus, "Created", "gray"],
  stored: [Database, "Rows of the file stored", "gray"],
  import_failed: [FileWarning, "The file could not be read to its end", "red"],
  first_ended: [Flag, "The first item ended", "blue"],
  paused: [CirclePause, "Paused", "orange"],
  resumed: [CirclePlay, "Resumed", "blue"],
  cancelled: [Ban, "Cancelled", "gray"],
  run_again: [RotateCcw, "Run again", "blue"],
  exported: [Download, "Exported", "gray"],
  kicked_off: [Zap, "Worked on inside a request", "blue"],
  called_back: [PhoneOutgoing, "Called back", "gray"],
  done: [CircleCheck, "The last item ended", "green"],
  failed: [TriangleAlert, "The last item ended, and some failed", "red"],
};

/** What happened when, how quick it went, and how much of it is claimed at once now. */
export function TimelineTab({ job }: { job: JobDetail }) {
  const found = useQuery({
    queryKey: ["job", job.jobId, "timeline"],
    queryFn: ({ signal }) => ask(api.GET("/api/jobs/{jobId}/timeline", { params: { path: { jobId: job.jobId } }, signal })),
  });
  if (found.isPending) return <Loading />;
  if (found.isError) return <Trouble error={found.error} again={() => void found.refetch()} />;
  return (
    <Stack gap="lg">
      <Pace timeline={found.data} />
      <SlicePanel job={job} />
      <div>
        <Title order={2} size="h4" mb="sm">
          What happened
        </Title>
        <Timeline bulletSize={24} lineWidth={2} active={found.data.events.length}>
          {found.data.events.map(entry)}
        </Timeline>
        {!found.data.complete && (
          <Text size="sm" c="dimmed" mt="sm">
            Older deeds are in the <GoTo to="/audit" underline="always">audit log</GoTo>.
          </Text>
        )}
      </div>
    </Stack>
  );
}

/** No component: the list tells its items how to look, and finds only those that are its own children. */
function entry(event: Event, index: number) {
  const [Icon, words, color] = LOOKS[event.what];
  return (
    <Timeline.Item key={index} color={color} bullet={<Icon size={14} aria-hidden />} title={words} data-event={event.what}>
      {event.detail && (
        <Text size="sm" className="stored">
          {event.detail}
        </Text>
      )}
      <Text size="xs" c="dimmed" className="stored">
        {event.by && `${event.by}, `}
        <time dateTime={event.at}>{moment(event.at)}</time>
      </Text>
    </Timeline.Item>
  );
}

function Pace({ timeline }: { timeline: Schemas["JobTimeline"] }) {
  const shown = useMemo(() => series(timeline.minutes), [timeline.minutes]);
  const lines = useMemo(
    () => [
      { name: "Done", values: shown.done, color: "green" as const, fill: true },
      { name: "Failed", values: shown.failed, color: "red" as const },
    ],
    [shown],
  );
  if (shown.times.length === 0)
    return (
      <Alert color="gray" title="No endings yet">
        As items end, a chart of how many do per minute appears here.
      </Alert>
    );
  const per = shown.minutes === 1 ? "minute" : `${count(shown.minutes)} minutes`;
  return (
    <Paper withBorder p="md">
      <Chart title={`Items that ended, per ${per}`} times={shown.times} lines={lines} unit={count} />
      <Text size="xs" c="dimmed">
        {timeline.countedSince
          ? `The newest endings, since ${moment(timeline.countedSince)}; figures from before are not kept per job. `
          : ""}
        An item that is run again leaves its minute.
      </Text>
    </Paper>
  );
}
