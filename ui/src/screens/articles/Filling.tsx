import { Button, Card, Group, Stack, Text } from "@mantine/core";
import { useMutation, useQuery } from "@tanstack/react-query";
import { Ban, Pause, Play } from "lucide-react";
import { useState } from "react";
import { api, ask, type Schemas } from "~/api/client";
import { Confirm } from "~/blocks/Confirm";
import { GoTo } from "~/blocks/links";
import { JobProgress } from "~/blocks/Progress";
import { StateBadge } from "~/blocks/StateBadge";
import { count, duration, many, rate } from "~/blocks/wording";
import { Allowed } from "~/shell/Allowed";

type Job = Schemas["FillingBody"];

const SCOPES: Record<NonNullable<Job["scope"]>, string> = {
  all: "all articles",
  missing: "what is missing",
  stale: "what is stale",
  outdated: "what is missing or stale",
  failed: "what failed",
};

/** Jobs that embed articles now, each with its progress; others' are seen by how many they have left. */
export function Filling({ jobs }: { jobs: Job[] }) {
  if (jobs.length === 0) return null;
  return (
    <Stack gap="xs" role="region" aria-label="At work on the index">
      {jobs.map((job) => (
        <One key={job.jobId} job={job} />
      ))}
    </Stack>
  );
}

function One({ job }: { job: Job }) {
  const { jobId } = job;
  const [cancelling, setCancelling] = useState(false);
  // Somebody else's import is not there for this user: then the count of the index is all there is.
  const found = useQuery({
    queryKey: ["job", jobId, "filling"],
    queryFn: ({ signal }) => ask(api.GET("/api/jobs/{jobId}", { params: { path: { jobId } }, signal })),
    retry: false,
  });
  const seen = found.data;
  const paused = job.paused || seen?.queueState === "PAUSED";
  const params = { path: { jobId } };
  const touches = [["job", jobId], ["jobs"], ["object", "article", "index"]];
  const toggle = useMutation({
    mutationFn: () => ask(paused ? api.POST("/api/jobs/{jobId}/resume", { params }) : api.POST("/api/jobs/{jobId}/pause", { params })),
    meta: { touches },
  });
  const cancel = useMutation({ mutationFn: () => ask(api.POST("/api/jobs/{jobId}/cancel", { params })), meta: { touches } });
  return (
    <Card withBorder padding="sm" data-filling={jobId}>
      <Group justify="space-between" gap="xs" mb={6}>
        <Group gap="xs">
          <StateBadge state={paused ? "PAUSED" : "RUNNING"} />
          <Text size="sm">
            {job.scope === null ? "Import" : `Re-index of ${SCOPES[job.scope]}`}
            {job.generation && ` into ${job.generation}`} ·{" "}
            <GoTo to="/jobs/$jobId" params={{ jobId: String(jobId) }} size="sm" underline="always">
              job {jobId}
            </GoTo>
          </Text>
        </Group>
        {seen && (
          <Group gap="xs">
            <Allowed role="operator" owner={seen.owner}>
              <Button
                size="xs"
                variant="default"
                loading={toggle.isPending}
                leftSection={paused ? <Play size={14} aria-hidden /> : <Pause size={14} aria-hidden />}
                onClick={() => toggle.mutate()}
              >
                {paused ? "Resume" : "Pause"}
              </Button>
            </Allowed>
            <Allowed role="operator" owner={seen.owner}>
              <Button size="xs" variant="default" leftSection={<Ban size={14} aria-hidden />} onClick={() => setCancelling(true)}>
                Cancel
              </Button>
            </Allowed>
          </Group>
        )}
      </Group>
      {seen && <JobProgress counts={seen.counts} total={seen.totalItems} size="sm" />}
      <Text size="sm" c="dimmed" className="numbers">
        {paused
          ? `${count(job.left)} left; paused${seen?.pausedBy ? ` by ${seen.pausedBy}` : ""}${seen?.pauseReason ? `: ${seen.pauseReason}` : ""}.`
          : `${count(job.left)} left${seen?.etaSeconds != null ? `, ${duration(seen.etaSeconds)} at ${rate(seen.perSecond)}` : ""}. New saves go first.`}
      </Text>
      {cancelling && (
        <Confirm title={`Cancel job ${jobId}?`} verb="Cancel job" danger onConfirm={() => cancel.mutateAsync()} onClose={() => setCancelling(false)}>
          {many(job.left, "article")} will not be embedded by it. What is indexed already stays.
        </Confirm>
      )}
    </Card>
  );
}
