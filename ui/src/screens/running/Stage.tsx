import { Alert, Paper, SimpleGrid, Stack, Table, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { CirclePause } from "lucide-react";
import { api, ask, type Schemas } from "~/api/client";
import { Facts } from "~/blocks/Facts";
import { GoTo } from "~/blocks/links";
import { Page } from "~/blocks/Page";
import { Part } from "~/blocks/Part";
import { Loading, Trouble } from "~/blocks/Trouble";
import { When } from "~/blocks/When";
import { count, duration, percent, rate } from "~/blocks/wording";
import { AtWork } from "./AtWork";
import { Decisions } from "./Decisions";
import { RATES_MS } from "./history";
import { HistoryCharts, RangeSwitch } from "./HistoryCharts";
import { StageActions } from "./StageActions";
import { Processors, Transport } from "./StageParts";
import { backlogWords, stageName } from "./wording";

const route = getRouteApi("/stages/$pipeline/$stage");

export function Stage() {
  const { pipeline, stage } = route.useParams();
  const { minutes } = route.useSearch();
  const navigate = route.useNavigate();
  const found = useQuery({
    queryKey: ["stages", pipeline, stage],
    queryFn: ({ signal }) => ask(api.GET("/api/stages/{pipeline}/{stage}", { params: { path: { pipeline, stage } }, signal })),
    refetchInterval: RATES_MS,
  });
  const title = stageName({ pipeline, stage });
  if (found.isPending || found.isError)
    return <Page title={title}>{found.isPending ? <Loading /> : <Trouble error={found.error} again={() => void found.refetch()} />}</Page>;
  const seen = found.data;
  return (
    <Page title={title} about={<GoTo to="/stages">All stages</GoTo>} actions={<StageActions stage={seen} />}>
      {seen.pausedAt && (
        <Alert color="orange" icon={<CirclePause aria-hidden />} title="Paused">
          <span className="stored">
            By {seen.pausedBy ?? "somebody"}, <When at={seen.pausedAt} />
            {seen.pauseReason ? `: ${seen.pauseReason}` : "."}
          </span>
        </Alert>
      )}
      <Now stage={seen} />
      <Part title="How it went" actions={<RangeSwitch minutes={minutes} onChange={(next) => void navigate({ search: { minutes: next }, replace: true })} />}>
        <HistoryCharts minutes={minutes} pipeline={pipeline} stage={stage} />
      </Part>
      <Part title="At work now">
        <AtWork processors={seen.atWork} />
      </Part>
      <SimpleGrid cols={{ base: 1, md: 2 }} spacing="md">
        <Part title="Policy">
          <Policy stage={seen} />
        </Part>
        <Part title="Last failures">
          <LastFailures pipeline={pipeline} stage={stage} />
        </Part>
      </SimpleGrid>
      <Part title="How much each worker claims, and why">
        <Decisions decisions={seen.decisions} />
      </Part>
    </Page>
  );
}

function Now({ stage }: { stage: Schemas["StageDetail"] }) {
  return (
    <SimpleGrid cols={{ base: 1, md: 2 }} spacing="md">
      <Paper withBorder p="sm">
        <Facts
          rows={[
            ["Waiting", count(stage.waiting)],
            ["Oldest wait", stage.oldestWaitSeconds === null ? null : duration(stage.oldestWaitSeconds)],
            ["Backlog", backlogWords(stage)],
            ["Running", stage.maxRunning === null ? `${count(stage.running)}, no limit` : `${count(stage.running)} of at most ${count(stage.maxRunning)}`],
            ["Held up by", stage.heldUpBy && <GoTo to="/limits" search={{ key: stage.heldUpBy }}>{stage.heldUpBy}</GoTo>],
            ["Processors", <Processors key="processors" processors={stage.processors} workers={stage.workers} />],
          ]}
        />
      </Paper>
      <Paper withBorder p="sm">
        <Facts
          rows={[
            ["In and out", `${rate(stage.arrivedPerSecond)} in, ${rate(stage.endedPerSecond)} out`],
            ["Went well, 1 h", stage.successRate === null ? null : percent(stage.successRate)],
            ["Failed, 1 h", count(stage.failedLastHour)],
            ["Tried again, 1 h", `${count(stage.retriesLastHour)} of ${count(stage.runsLastHour)} runs`],
            ["A run takes", stage.meanRunSeconds === null ? null : `${duration(stage.meanRunSeconds)}, 95 % within ${duration(stage.runP95Seconds)}`],
            ["95 % wait at most", stage.waitP95Seconds === null ? null : duration(stage.waitP95Seconds)],
            ["Transport", stage.transport && <Transport stage={stage} />],
          ]}
        />
      </Paper>
    </SimpleGrid>
  );
}

function Policy({ stage }: { stage: Schemas["StageDetail"] }) {
  const { policy } = stage;
  const usual = "as the worker is set";
  return (
    <Paper withBorder p="sm">
      <Facts
        rows={[
          ["Tries", count(stage.maxAttempts)],
          ["Deadline of a run", policy.timeoutSeconds ? duration(policy.timeoutSeconds) : usual],
          ["Pool", policy.pool ? `${count(policy.pool)} in a worker` : usual],
          ["Runs in", policy.execution],
          [
            "Next try after",
            policy.retry && `${duration(policy.retry.baseSeconds)}, then × ${policy.retry.factor} each time, at most ${duration(policy.retry.capSeconds)}`,
          ],
          ["Rows of a claim", policy.batch && `at most ${count(policy.batch)}`],
          ["Starts per cycle", policy.throttle && `at most ${count(policy.throttle)}`],
          ["Served", policy.order === null || policy.order === undefined ? null : `in place ${policy.order}; lower ones come first`],
          ["Version", policy.version],
        ]}
      />
    </Paper>
  );
}

function LastFailures({ pipeline, stage }: { pipeline: string; stage: string }) {
  const found = useQuery({
    queryKey: ["stages", pipeline, stage, "failures"],
    queryFn: ({ signal }) => ask(api.GET("/api/dead-letters", { params: { query: { pipeline, pageSize: 20 } }, signal })),
  });
  if (found.isPending) return <Loading rows={2} />;
  if (found.isError) return <Trouble error={found.error} again={() => void found.refetch()} />;
  const shown = found.data.items.filter((one) => one.stage === stage).slice(0, 5);
  if (shown.length === 0)
    return (
      <Text size="sm" c="dimmed">
        None of your items failed here lately.
      </Text>
    );
  return (
    <Stack gap="xs">
      <Table.ScrollContainer minWidth={320}>
        <Table fz="sm">
          <Table.Thead>
            <Table.Tr>
              <Table.Th>Item</Table.Th>
              <Table.Th>Failure</Table.Th>
              <Table.Th>When</Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {shown.map((one) => (
              <Table.Tr key={one.itemId}>
                <Table.Td>
                  <GoTo to="/items/$itemId" params={{ itemId: String(one.itemId) }}>
                    {one.itemId}
                  </GoTo>
                </Table.Td>
                <Table.Td className="stored">
                  <Text size="sm" lineClamp={3}>
                    {[one.errorType, one.message].filter(Boolean).join(": ") || "no cause was recorded"}
                  </Text>
                </Table.Td>
                <Table.Td>
                  <When at={one.failedAt} />
                </Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      </Table.ScrollContainer>
      <GoTo to="/dead-letters" search={{ pipeline, stage }} size="sm">
        All dead letters of this stage
      </GoTo>
    </Stack>
  );
}
