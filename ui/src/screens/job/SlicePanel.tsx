import { Paper, Stack, Table, Text, Title } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { api, ask, type Schemas } from "~/api/client";
import { Trouble } from "~/blocks/Trouble";
import { count, duration, many, milliseconds, percent } from "~/blocks/wording";
import classes from "./job.module.css";
import type { JobDetail } from "./useJob";

/** Why workers claim as much of the job at one time as they do now. */
export function SlicePanel({ job }: { job: JobDetail }) {
  const found = useQuery({
    queryKey: ["job", job.jobId, "slice"],
    queryFn: ({ signal }) => ask(api.GET("/api/jobs/{jobId}/slice", { params: { path: { jobId: job.jobId } }, signal })),
    // Workers tell their decisions with heartbeats, which are no events.
    refetchInterval: 5000,
  });
  if (found.isError && !found.data) return <Trouble error={found.error} again={() => void found.refetch()} />;
  if (!found.data) return null;
  const { stages, targetMs, safety, claimMin, claimMax } = found.data;
  return (
    <Paper withBorder p="md" component="section" aria-label="How much is claimed at once">
      <Title order={2} size="h4">
        How much is claimed at once
      </Title>
      <Text size="xs" c="dimmed">
        Target: {milliseconds(targetMs)} of work per processor, filled to {percent(safety)}; {count(claimMin)} to {count(claimMax)} per claim.
      </Text>
      <Stack gap="sm" mt="sm">
        {stages.map((stage) => (
          <StageSlice key={stage.stage} stage={stage} />
        ))}
      </Stack>
    </Paper>
  );
}

function StageSlice({ stage }: { stage: Schemas["SliceStage"] }) {
  const bounds = [
    stage.batch !== null && `at most ${many(stage.batch, "row")} per claim by the code`,
    stage.throttle !== null && `at most ${count(stage.throttle)} starts per cycle`,
    stage.maxRunning !== null && `at most ${count(stage.maxRunning)} at a time in the whole fleet`,
  ].filter(Boolean);
  return (
    <div data-slice={stage.stage}>
      <Text size="sm">
        <b className="stored">{stage.stage}</b>: {stage.sentence}
      </Text>
      {bounds.length > 0 && (
        <Text size="xs" c="dimmed">
          Bounds: {bounds.join("; ")}.
        </Text>
      )}
      {stage.workers.length > 0 && (
        <details className={classes.fold}>
          <summary>By worker</summary>
          <div className={classes.scroll} tabIndex={0} role="group" aria-label={`Workers of stage ${stage.stage}`}>
            <Table fz="xs" miw={560}>
              <Table.Thead>
                <Table.Tr>
                  <Table.Th>Worker</Table.Th>
                  <Table.Th>Claims</Table.Th>
                  <Table.Th>One takes</Table.Th>
                  <Table.Th>Processors</Table.Th>
                  <Table.Th>Last decision</Table.Th>
                  <Table.Th>Heard</Table.Th>
                </Table.Tr>
              </Table.Thead>
              <Table.Tbody>
                {stage.workers.map((one) => (
                  <Table.Tr key={one.worker}>
                    <Table.Td className="stored">{one.worker}</Table.Td>
                    <Table.Td className="numbers">{count(one.size)}</Table.Td>
                    <Table.Td className="numbers">{milliseconds(one.ewmaMs)}</Table.Td>
                    <Table.Td className="numbers">{count(one.processors)}</Table.Td>
                    <Table.Td className="stored">{one.reason ?? "–"}</Table.Td>
                    <Table.Td className="numbers">{duration(one.silentSeconds)} ago</Table.Td>
                  </Table.Tr>
                ))}
              </Table.Tbody>
            </Table>
          </div>
        </details>
      )}
    </div>
  );
}
