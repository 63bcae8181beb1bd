import { Group, Switch, Table, Text, TextInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { Search } from "lucide-react";
import { useState } from "react";
import { api, ask } from "~/api/client";
import { Empty } from "~/blocks/Empty";
import { GoTo } from "~/blocks/links";
import { Page } from "~/blocks/Page";
import { Loading, Trouble } from "~/blocks/Trouble";
import { Wide } from "~/blocks/Wide";
import { count, duration, rate } from "~/blocks/wording";
import { StageActions } from "./StageActions";
import { PausedNote, Processors, Transport } from "./StageParts";
import { RATES_MS } from "./history";
import { backlogWords, inOrder, isBusy, stageName, type Stage } from "./wording";

const route = getRouteApi("/stages");

export function Stages() {
  const { q = "", busy = false } = route.useSearch();
  const navigate = route.useNavigate();
  const found = useQuery({ queryKey: ["stages"], queryFn: ({ signal }) => ask(api.GET("/api/stages", { signal })), refetchInterval: RATES_MS });
  const all = found.data?.items ?? [];
  // As they stood when somebody came: a button that is pressed does not move away.
  const [places, setPlaces] = useState<string[]>([]);
  const ordered = inOrder(all, places);
  const names = ordered.map(stageName);
  if (found.isFetchedAfterMount && names.some((name) => !places.includes(name))) setPlaces(names);
  const shown = ordered.filter((stage) => (!busy || isBusy(stage)) && stageName(stage).toLowerCase().includes(q.toLowerCase()));
  return (
    <Page title="Stages" about="Where items wait and run. A pipeline has one or more stages; a stage has a handler, a pool and a policy.">
      <Group gap="md">
        <TextInput
          aria-label="Find a stage"
          placeholder="Find a stage"
          leftSection={<Search size={14} aria-hidden />}
          value={q}
          onChange={(event) => {
            const typed = event.currentTarget.value;
            void navigate({ search: (before) => ({ ...before, q: typed || undefined }), replace: true });
          }}
        />
        <Switch
          label="Only with work or trouble"
          checked={busy}
          onChange={(event) => {
            const on = event.currentTarget.checked;
            void navigate({ search: (before) => ({ ...before, busy: on || undefined }), replace: true });
          }}
        />
      </Group>
      {found.isPending ? (
        <Loading />
      ) : found.isError ? (
        <Trouble error={found.error} again={() => void found.refetch()} />
      ) : all.length === 0 ? (
        <Empty kind="nothing" title="No stages yet">
          A stage appears here when a worker starts with the application that declares it: <code>penstock worker --app module:name</code>
        </Empty>
      ) : shown.length === 0 ? (
        <Empty kind="filtered" title="No stage fits">
          {count(all.length)} stages are there, and the filters hide them all.
        </Empty>
      ) : (
        <Wide minWidth={960} deeds>
          <Table verticalSpacing="xs" highlightOnHover>
            <Table.Thead>
              <Table.Tr>
                <Table.Th>Stage</Table.Th>
                <Table.Th ta="right">Waiting</Table.Th>
                <Table.Th ta="right">Running</Table.Th>
                <Table.Th>Processors</Table.Th>
                <Table.Th>In and out</Table.Th>
                <Table.Th>Backlog</Table.Th>
                <Table.Th ta="right" style={{ whiteSpace: "nowrap" }}>
                  Failed, 1 h
                </Table.Th>
                <Table.Th>Transport</Table.Th>
                <Table.Th aria-label="What can be done" />
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody>
              {shown.map((stage) => (
                <Row key={`${stage.pipeline}/${stage.stage}`} stage={stage} />
              ))}
            </Table.Tbody>
          </Table>
        </Wide>
      )}
    </Page>
  );
}

function Row({ stage }: { stage: Stage }) {
  const { pipeline, stage: name } = stage;
  const full = stage.maxRunning !== null && stage.running >= stage.maxRunning;
  return (
    <Table.Tr data-stage={`${pipeline}/${name}`}>
      <Table.Td maw={260}>
        <GoTo to="/stages/$pipeline/$stage" params={{ pipeline, stage: name }} fw={500} className="stored">
          {stageName(stage)}
        </GoTo>
        <PausedNote stage={stage} />
      </Table.Td>
      <Table.Td ta="right" className="numbers">
        {count(stage.waiting)}
        {stage.oldestWaitSeconds !== null && (
          <Text size="xs" c="dimmed">
            oldest {duration(stage.oldestWaitSeconds)}
          </Text>
        )}
      </Table.Td>
      <Table.Td ta="right" className="numbers">
        {count(stage.running)}
        {stage.maxRunning !== null && (
          <Text size="xs" c={full ? "orange" : "dimmed"}>
            of at most {count(stage.maxRunning)}
          </Text>
        )}
      </Table.Td>
      <Table.Td>
        <Processors processors={stage.processors} workers={stage.workers} />
      </Table.Td>
      <Table.Td className="numbers" style={{ whiteSpace: "nowrap" }}>
        {rate(stage.arrivedPerSecond)} in
        <br />
        {rate(stage.endedPerSecond)} out
      </Table.Td>
      <Table.Td maw={240} className="stored">
        {backlogWords(stage) ?? "–"}
      </Table.Td>
      <Table.Td ta="right" className="numbers">
        {stage.failedLastHour > 0 ? (
          <GoTo to="/dead-letters" search={{ pipeline, stage: name }} c="red">
            {count(stage.failedLastHour)}
          </GoTo>
        ) : (
          "0"
        )}
      </Table.Td>
      <Table.Td>
        <Transport stage={stage} />
      </Table.Td>
      <Table.Td>
        <StageActions stage={stage} compact />
      </Table.Td>
    </Table.Tr>
  );
}
