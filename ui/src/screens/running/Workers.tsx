import { Alert, Group, Progress, Stack, Table, Text, Title, Tooltip } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { TriangleAlert } from "lucide-react";
import { api, ask, type Schemas } from "~/api/client";
import { Drawer } from "~/blocks/Drawer";
import { Empty } from "~/blocks/Empty";
import { Facts } from "~/blocks/Facts";
import { GoTo } from "~/blocks/links";
import { Page } from "~/blocks/Page";
import { StateBadge } from "~/blocks/StateBadge";
import { Loading, Trouble } from "~/blocks/Trouble";
import { useNow, When } from "~/blocks/When";
import { bytes, count, duration, many } from "~/blocks/wording";
import { AtWork } from "./AtWork";
import { Decisions } from "./Decisions";

type Worker = Schemas["WorkerDetail"];

const route = getRouteApi("/workers");
/** Heartbeats come every few seconds, and nothing tells of them. */
const LOOK_AGAIN_MS = 3000;

export function Workers() {
  const { worker: chosen } = route.useSearch();
  const navigate = route.useNavigate();
  const found = useQuery({
    queryKey: ["workers"],
    queryFn: ({ signal }) => ask(api.GET("/api/workers", { signal })),
    refetchInterval: LOOK_AGAIN_MS,
  });
  const shown = found.data?.items.find((one) => one.id === chosen);
  return (
    <Page title="Workers" about="The processes that do the work. One that stays silent too long counts as dead; what it held is done by others.">
      {found.isPending ? (
        <Loading />
      ) : found.isError ? (
        <Trouble error={found.error} again={() => void found.refetch()} />
      ) : found.data.items.length === 0 ? (
        <Empty kind="nothing" title="No worker is running">
          Items are taken and kept meanwhile. Start one with <code>penstock worker --app module:name</code>, or everything with <code>penstock up</code>.
        </Empty>
      ) : (
        <Table.ScrollContainer minWidth={920}>
          <Table verticalSpacing="xs" highlightOnHover>
            <Table.Thead>
              <Table.Tr>
                <Table.Th>Worker</Table.Th>
                <Table.Th>Heartbeat</Table.Th>
                <Table.Th>Busy</Table.Th>
                <Table.Th>Runs now</Table.Th>
                <Table.Th ta="right">Stages</Table.Th>
                <Table.Th ta="right">Memory</Table.Th>
                <Table.Th>Version</Table.Th>
                <Table.Th>Started</Table.Th>
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody>
              {found.data.items.map((worker) => (
                <Row key={worker.id} worker={worker} heardAt={found.dataUpdatedAt} />
              ))}
            </Table.Tbody>
          </Table>
        </Table.ScrollContainer>
      )}
      {shown && <Detail worker={shown} heardAt={found.dataUpdatedAt} onClose={() => void navigate({ search: {} })} />}
    </Page>
  );
}

/** Counted on by the clock of this machine from when it was told, so that clocks that differ do not matter. */
function Heartbeat({ worker, heardAt }: { worker: Worker; heardAt: number }) {
  const now = useNow();
  const silent = worker.silentSeconds + Math.max(0, now - heardAt) / 1000;
  return (
    <Group gap={6} wrap="nowrap" data-late={worker.late}>
      {worker.late ? <StateBadge state="LATE" look="ERROR" word="Late" /> : <StateBadge state="ALIVE" look="DONE" word="Alive" />}
      <Text size="sm" className="numbers" c={worker.late ? "red" : undefined} style={{ whiteSpace: "nowrap" }}>
        {duration(Math.floor(silent))} ago
      </Text>
    </Group>
  );
}

function Row({ worker, heardAt }: { worker: Worker; heardAt: number }) {
  const problems = worker.health?.problems ?? [];
  return (
    <Table.Tr data-worker={worker.name}>
      <Table.Td>
        <GoTo to="/workers" search={{ worker: worker.id }} fw={500} className="stored">
          {worker.name}
        </GoTo>
        <Text size="xs" c="dimmed" className="stored">
          {worker.host}, process {worker.pid}
        </Text>
        {problems.map((problem) => (
          <Text key={problem} size="xs" c="red" className="stored">
            {problem}
          </Text>
        ))}
      </Table.Td>
      <Table.Td>
        <Heartbeat worker={worker} heardAt={heardAt} />
      </Table.Td>
      <Table.Td miw={120}>
        <Slots worker={worker} />
      </Table.Td>
      <Table.Td>
        <RunsNow worker={worker} />
      </Table.Td>
      <Table.Td ta="right" className="numbers">
        <Tooltip label={Object.keys(worker.decisions).join(", ") || "none"} multiline maw={320}>
          <span>{count(worker.stages)}</span>
        </Tooltip>
      </Table.Td>
      <Table.Td ta="right" className="numbers">
        {bytes(worker.memoryBytes)}
      </Table.Td>
      <Table.Td>{worker.version}</Table.Td>
      <Table.Td>
        <When at={worker.startedAt} />
      </Table.Td>
    </Table.Tr>
  );
}

function Slots({ worker }: { worker: Worker }) {
  const { busy, error, processors } = worker;
  const label = `${count(busy + error)} of ${many(processors, "processor")} hold an item${error ? `, ${count(error)} of them stuck` : ""}`;
  return (
    <Tooltip label={label}>
      <div role="img" aria-label={label}>
        <Progress.Root size="sm">
          <Progress.Section value={processors ? (busy / processors) * 100 : 0} color="blue" withAria={false} />
          <Progress.Section value={processors ? (error / processors) * 100 : 0} color="red" withAria={false} />
        </Progress.Root>
        <Text size="xs" c="dimmed" className="numbers">
          {count(busy + error)}/{count(processors)}
        </Text>
      </div>
    </Tooltip>
  );
}

const LINKED = 3;

function RunsNow({ worker }: { worker: Worker }) {
  const own = worker.atWork.filter((one) => one.taskId !== null).slice(0, LINKED);
  const rest = worker.running - own.length;
  if (worker.running === 0 && own.length === 0) return <>–</>;
  return (
    <Text size="sm" component="div">
      {own.map((one, index) => (
        <span key={one.name}>
          {index > 0 && ", "}
          <GoTo to="/items/$itemId" params={{ itemId: String(one.taskId) }}>
            {one.taskId}
          </GoTo>
        </span>
      ))}
      {rest > 0 && `${own.length ? " and " : ""}${count(rest)}${own.length ? " more" : rest === 1 ? " item" : " items"}`}
    </Text>
  );
}

function Detail({ worker, heardAt, onClose }: { worker: Worker; heardAt: number; onClose: () => void }) {
  const { health } = worker;
  return (
    <Drawer title={worker.name} onClose={onClose}>
      <Stack>
        {worker.late && (
          <Alert color="red" icon={<TriangleAlert aria-hidden />} title="Its heartbeat is late">
            If it stays silent, it soon counts as dead and others take what it holds.
          </Alert>
        )}
        <Facts
          rows={[
            ["Heartbeat", <Heartbeat key="heartbeat" worker={worker} heardAt={heardAt} />],
            ["Host", worker.host],
            ["Process", String(worker.pid)],
            ["Version", worker.version],
            ["Started", <When key="started" at={worker.startedAt} />],
            ["Memory", worker.memoryBytes === null ? null : `${bytes(worker.memoryBytes)}, without child processes`],
            ["Health", health && (health.problems.length > 0 ? health.problems.join(" ") : <>all well, <When at={health.at} /></>)],
            ["Last looked for work", health && `${duration(health.secondsSincePoll)} before that`],
          ]}
        />
        <Title order={3}>What it runs</Title>
        <AtWork processors={worker.atWork} of="worker" />
        <Title order={3}>How much it claims, and why</Title>
        <Decisions named="Stage" decisions={Object.entries(worker.decisions).map(([stage, one]) => ({ ...one, worker: stage }))} />
      </Stack>
    </Drawer>
  );
}
