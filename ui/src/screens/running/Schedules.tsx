import { Button, Group, List, Stack, Table, Text, Title } from "@mantine/core";
import { useMutation, useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { Pause, Play, Zap } from "lucide-react";
import { useState } from "react";
import { api, ask, type Schemas } from "~/api/client";
import { tellDone } from "~/api/queries";
import { Confirm } from "~/blocks/Confirm";
import { Drawer } from "~/blocks/Drawer";
import { Empty } from "~/blocks/Empty";
import { Facts } from "~/blocks/Facts";
import { GoTo } from "~/blocks/links";
import { Page } from "~/blocks/Page";
import { StateBadge } from "~/blocks/StateBadge";
import { Loading, Trouble } from "~/blocks/Trouble";
import { When } from "~/blocks/When";
import { Wide } from "~/blocks/Wide";
import { moment } from "~/blocks/wording";
import { Allowed } from "~/shell/Allowed";

type Schedule = Schemas["ScheduleItem"];

const route = getRouteApi("/schedules");

export function Schedules() {
  const { name: chosen } = route.useSearch();
  const navigate = route.useNavigate();
  const found = useQuery({ queryKey: ["object", "schedule"], queryFn: ({ signal }) => ask(api.GET("/api/schedules", { signal })) });
  const shown = found.data?.items.find((one) => one.name === chosen);
  return (
    <Page title="Schedules" about="Tasks that start by the clock.">
      {found.isPending ? (
        <Loading />
      ) : found.isError ? (
        <Trouble error={found.error} again={() => void found.refetch()} />
      ) : found.data.items.length === 0 ? (
        <Empty kind="nothing" title="No schedules yet">
          A task with <code>schedule="0 6 * * *"</code> in its declaration appears here when a worker starts.
        </Empty>
      ) : (
        <Wide minWidth={760} deeds>
          <Table verticalSpacing="xs" highlightOnHover>
            <Table.Thead>
              <Table.Tr>
                <Table.Th>Schedule</Table.Th>
                <Table.Th>When</Table.Th>
                <Table.Th>Next</Table.Th>
                <Table.Th>Last</Table.Th>
                <Table.Th aria-label="What can be done" />
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody>
              {found.data.items.map((schedule) => (
                <Row key={schedule.name} schedule={schedule} />
              ))}
            </Table.Tbody>
          </Table>
        </Wide>
      )}
      {shown && <Detail schedule={shown} onClose={() => void navigate({ search: {} })} />}
    </Page>
  );
}

function Detail({ schedule, onClose }: { schedule: Schedule; onClose: () => void }) {
  return (
    <Drawer title={schedule.name} onClose={onClose}>
      <Stack>
        <Facts
          rows={[
            ["Task", schedule.pipeline],
            ["When", schedule.words],
            ["Cron", <span key="cron" className="mono">{schedule.cron}</span>],
            ["Time zone", schedule.timezone],
            ["Missed times", MISSED[schedule.missed] ?? schedule.missed],
            ["Declared by", schedule.declared ? (schedule.source ?? "code") : "a person"],
            ["Last time", schedule.lastFireAt && moment(schedule.lastFireAt)],
            ["Last failure", schedule.lastError],
            ["Paused", schedule.pausedAt && `by ${schedule.pausedBy ?? "somebody"}, ${moment(schedule.pausedAt)}`],
          ]}
        />
        <Title order={3}>Next times</Title>
        {schedule.upcoming.length === 0 ? (
          <Text size="sm" c="dimmed">
            {schedule.pausedAt ? "None while it is paused. Times that pass meanwhile are gone." : "None: it has ended, or cannot be calculated."}
          </Text>
        ) : (
          <List size="sm" type="ordered">
            {schedule.upcoming.map((at) => (
              <List.Item key={at} className="numbers">
                {moment(at)} (<When at={at} />)
              </List.Item>
            ))}
          </List>
        )}
      </Stack>
    </Drawer>
  );
}

const MISSED: Record<string, string> = {
  one: "started once, late",
  all: "each is started, late",
  skip: "left out",
};

function Row({ schedule }: { schedule: Schedule }) {
  const { name, pausedAt, pausedBy, lastError } = schedule;
  const [asking, setAsking] = useState(false);
  const params = { path: { name } };
  const toggle = useMutation({
    mutationFn: () => ask(pausedAt ? api.POST("/api/schedules/{name}/resume", { params }) : api.POST("/api/schedules/{name}/pause", { params })),
    meta: { touches: [["object", "schedule"]] },
  });
  const fire = useMutation({
    mutationFn: () => ask(api.POST("/api/schedules/{name}/fire", { params })),
    meta: { touches: [["object", "schedule"], ["jobs"]] },
    onSuccess: (fired) => tellDone(`${name} started as item ${fired.itemId}.`),
  });
  return (
    <Table.Tr>
      <Table.Td>
        <GoTo to="/schedules" search={{ name }} fw={500} className="stored">
          {name}
        </GoTo>
        <Text size="xs" c="dimmed">
          {schedule.pipeline}
          {!schedule.declared && " · made by a person, not declared in code"}
        </Text>
        {lastError && (
          <Text size="xs" c="red" className="stored">
            {lastError}
          </Text>
        )}
      </Table.Td>
      <Table.Td className="numbers">
        {schedule.words}
        <Text size="xs" c="dimmed">
          <span className="mono">{schedule.cron}</span> · {schedule.timezone} · missed times: {schedule.missed}
        </Text>
      </Table.Td>
      <Table.Td>
        {pausedAt ? (
          <>
            <StateBadge state="PAUSED" />
            <Text size="xs" c="dimmed">
              by {pausedBy ?? "somebody"}, <When at={pausedAt} />
            </Text>
          </>
        ) : (
          <When at={schedule.nextFireAt} />
        )}
      </Table.Td>
      <Table.Td>
        {schedule.lastItemId === null ? (
          "–"
        ) : (
          <GoTo to="/items/$itemId" params={{ itemId: String(schedule.lastItemId) }}>
            <When at={schedule.lastFireAt} />
          </GoTo>
        )}
      </Table.Td>
      <Table.Td>
        <Group gap="xs" justify="flex-end" wrap="nowrap">
          <Allowed role="operator">
            <Button
              size="xs"
              variant="default"
              loading={toggle.isPending}
              leftSection={pausedAt ? <Play size={14} aria-hidden /> : <Pause size={14} aria-hidden />}
              onClick={() => toggle.mutate()}
            >
              {pausedAt ? "Resume" : "Pause"}
            </Button>
          </Allowed>
          <Allowed role="operator">
            <Button size="xs" variant="default" leftSection={<Zap size={14} aria-hidden />} onClick={() => setAsking(true)}>
              Run now
            </Button>
          </Allowed>
        </Group>
        {asking && (
          <Confirm title={`Run ${name} now?`} verb="Run now" onConfirm={() => fire.mutateAsync()} onClose={() => setAsking(false)}>
            Its task starts once, now. The times of the schedule stay as they are.
          </Confirm>
        )}
      </Table.Td>
    </Table.Tr>
  );
}
