import { Alert, Button, Code, CopyButton, Group, SegmentedControl, Stack, Table, Text, UnstyledButton } from "@mantine/core";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { Copy, ListFilter, RotateCw } from "lucide-react";
import { useState } from "react";
import { api, ask, type Schemas } from "~/api/client";
import { Drawer } from "~/blocks/Drawer";
import { Empty } from "~/blocks/Empty";
import { Everybodys } from "~/blocks/Everybodys";
import { Facts } from "~/blocks/Facts";
import { GoTo, GoToButton } from "~/blocks/links";
import { Page } from "~/blocks/Page";
import { Sparkline } from "~/blocks/Sparkline";
import { Loading, Trouble } from "~/blocks/Trouble";
import { When } from "~/blocks/When";
import { count, many } from "~/blocks/wording";
import { Allowed } from "~/shell/Allowed";
import { useMe, useWhose } from "~/shell/me";
import { ReplayDialog } from "./ReplayDialog";

type ErrorGroup = Schemas["ErrorGroup"];

const route = getRouteApi("/errors");
const TIMES = [
  { value: "1", label: "Last hour" },
  { value: "24", label: "Last day" },
  { value: "168", label: "Last week" },
];

export function Errors() {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const admin = useMe().role === "admin";
  const hours = search.hours ?? 24;
  const userId = useWhose(search.everybody);
  const found = useQuery({
    queryKey: ["overview", "errors", hours, search.jobId, userId],
    queryFn: ({ signal }) => ask(api.GET("/api/errors", { params: { query: { hours, jobId: search.jobId, userId } }, signal })),
    placeholderData: keepPreviousData,
  });
  const open = found.data?.items.find((group) => group.groupId === search.group);
  const goTo = (group: string | undefined) => void navigate({ search: (was) => ({ ...was, group }) });
  return (
    <Page
      title="Errors"
      about={
        search.jobId === undefined ? (
          "Failures of the same kind are one line: the same type, at the same place, in the same words."
        ) : (
          <>
            Of{" "}
            <GoTo to="/jobs/$jobId" params={{ jobId: String(search.jobId) }}>
              job {search.jobId}
            </GoTo>
            , by kind.
          </>
        )
      }
      actions={
        <GoToButton to="/dead-letters" search={{ everybody: search.everybody }} variant="default">
          Dead letters
        </GoToButton>
      }
    >
      <Group gap="sm">
        <SegmentedControl
          aria-label="Time"
          data={TIMES}
          value={TIMES.some((one) => one.value === String(hours)) ? String(hours) : ""}
          onChange={(value) => void navigate({ search: (was) => ({ ...was, hours: value === "24" ? undefined : Number(value) }), replace: true })}
        />
        {search.jobId === undefined && (
          <Everybodys checked={search.everybody} onChange={(everybody) => void navigate({ search: (was) => ({ ...was, everybody }), replace: true })} />
        )}
      </Group>
      {found.isPending ? (
        <Loading />
      ) : found.isError && !found.data ? (
        <Trouble error={found.error} again={() => void found.refetch()} />
      ) : found.data && found.data.items.length > 0 ? (
        <>
          {!found.data.complete && (
            <Alert color="gray" role="note">
              The newest {count(found.data.failures)} failures are grouped; there are older ones that are not counted here.
            </Alert>
          )}
          <Groups groups={found.data.items} hours={hours} onOpen={goTo} />
          {found.data.groupsLeftOut > 0 && <Text c="dimmed">{many(found.data.groupsLeftOut, "smaller group")} not shown.</Text>}
        </>
      ) : (
        <Empty kind={hours < 168 ? "filtered" : "nothing"} title={`Nothing failed in the ${timeWord(hours)}`}>
          {search.jobId !== undefined || userId === "all"
            ? "What fails appears here, in groups of the same kind."
            : admin
              ? "These are your own items; switch to everybody's to see those of others."
              : "These are your own items. Those of others are shown to them and to admins."}
        </Empty>
      )}
      {open && <GroupDrawer group={open} hours={hours} jobId={search.jobId} userId={userId} onClose={() => goTo(undefined)} />}
    </Page>
  );
}

function timeWord(hours: number): string {
  return TIMES.find((one) => one.value === String(hours))?.label.toLowerCase() ?? `last ${count(hours)} hours`;
}

function Groups({ groups, hours, onOpen }: { groups: ErrorGroup[]; hours: number; onOpen: (group: string) => void }) {
  return (
    <Table.ScrollContainer minWidth={620}>
      <Table verticalSpacing="xs" highlightOnHover aria-label="Groups of errors">
        <Table.Thead>
          <Table.Tr>
            <Table.Th>Error</Table.Th>
            <Table.Th ta="right">Items</Table.Th>
            <Table.Th>Over the {timeWord(hours)}</Table.Th>
            <Table.Th>Last</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {groups.map((group) => (
            <Table.Tr key={group.groupId} data-group={group.groupId}>
              <Table.Td maw={520}>
                <UnstyledButton onClick={() => onOpen(group.groupId)} w="100%">
                  <Text fw={500} size="sm" className="stored" lineClamp={2}>
                    {group.example || "No message"}
                  </Text>
                  <Text size="xs" c="dimmed" className="stored">
                    {[group.type, group.stages.join(", ")].filter(Boolean).join(" · ")}
                  </Text>
                </UnstyledButton>
              </Table.Td>
              <Table.Td ta="right" className="numbers">
                {count(group.count)}
              </Table.Td>
              <Table.Td>
                <Text c="red" component="span">
                  <Sparkline values={group.trend} label={`${many(group.count, "failure")} over the ${timeWord(hours)}`} width={120} />
                </Text>
              </Table.Td>
              <Table.Td>
                <When at={group.lastSeen} />
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  );
}

const LONGEST_TITLE = 120;

function shortened(text: string): string {
  return text.length > LONGEST_TITLE ? `${text.slice(0, LONGEST_TITLE)}…` : text;
}

type DrawerProps = { group: ErrorGroup; hours: number; jobId?: number; userId: "me" | "all"; onClose: () => void };

function GroupDrawer({ group, hours, jobId, userId, onClose }: DrawerProps) {
  const [asking, setAsking] = useState(false);
  const everybody = userId === "all" || undefined;
  return (
    <Drawer title={shortened(group.example) || (group.type ?? "Error")} onClose={onClose}>
      <Stack>
        <Code block className="stored">
          {group.example || "No message"}
        </Code>
        <Group gap="xs">
          <Allowed role="operator">
            <Button size="xs" leftSection={<RotateCw size={14} aria-hidden />} onClick={() => setAsking(true)}>
              Run all again
            </Button>
          </Allowed>
          {jobId === undefined ? (
            <GoToButton to="/dead-letters" search={{ group: group.groupId, everybody }} size="xs" variant="default" leftSection={<ListFilter size={14} aria-hidden />}>
              Show the items
            </GoToButton>
          ) : (
            <GoToButton
              to="/jobs/$jobId"
              params={{ jobId: String(jobId) }}
              search={{ status: ["ERROR"], group: group.groupId }}
              size="xs"
              variant="default"
              leftSection={<ListFilter size={14} aria-hidden />}
            >
              Show the rows
            </GoToButton>
          )}
          <CopyButton value={[group.type, group.example, group.where].filter(Boolean).join("\n")}>
            {({ copied, copy }) => (
              <Button size="xs" variant="default" leftSection={<Copy size={14} aria-hidden />} onClick={copy}>
                {copied ? "Copied" : "Copy"}
              </Button>
            )}
          </CopyButton>
        </Group>
        <Facts
          rows={[
            ["Same words", group.message && <span className="stored">{group.message}</span>],
            ["Where", group.where && <Code>{group.where}</Code>],
            ["Kind", [group.type, group.errorClass].filter(Boolean).join(" · ")],
            ["Items", count(group.count)],
            ["Stages", group.stages.join(", ")],
            ["First seen", <When key="first" at={group.firstSeen} />],
            ["Last seen", <When key="last" at={group.lastSeen} />],
            [
              "Example",
              <GoTo key="example" to="/items/$itemId" params={{ itemId: String(group.exampleItemId) }}>
                Item {group.exampleItemId}
              </GoTo>,
            ],
          ]}
        />
        <Text c="red">
          <Sparkline values={group.trend} label={`${many(group.count, "failure")} over the ${timeWord(hours)}`} width={320} height={48} />
        </Text>
      </Stack>
      {asking && <ReplayDialog title="Run this group again" matching={{ group: group.groupId, jobId, userId }} onClose={() => setAsking(false)} />}
    </Drawer>
  );
}
