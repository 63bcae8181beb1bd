import { Badge, Button, Group, Stack, Table, Text } from "@mantine/core";
import { useInfiniteQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { Globe, Hand } from "lucide-react";
import { api, ask, type Schemas } from "~/api/client";
import { Empty } from "~/blocks/Empty";
import { Everybodys } from "~/blocks/Everybodys";
import { GoTo } from "~/blocks/links";
import { NewPill } from "~/blocks/NewPill";
import { Page } from "~/blocks/Page";
import { StateBadge } from "~/blocks/StateBadge";
import { Loading, Trouble } from "~/blocks/Trouble";
import { When } from "~/blocks/When";
import { Wide } from "~/blocks/Wide";
import { count, percent } from "~/blocks/wording";
import { useStanding } from "~/grid/useStanding";
import { Allowed } from "~/shell/Allowed";
import { useWhose } from "~/shell/me";
import { AddSites } from "./AddSites";
import { StageProgress } from "./StageProgress";

type Analysis = Schemas["AnalysisBody"];

const idOf = (one: Analysis) => one.jobId;

export function Analyses() {
  const search = useSearch({ from: "/sites" });
  const navigate = useNavigate({ from: "/sites" });
  const everybody = useWhose(search.everybody) === "all";
  const adding = (open: boolean) => void navigate({ search: (was) => ({ ...was, add: open || undefined, from: undefined }) });
  return (
    <Page
      title="Sites"
      about="Websites, read and put to models: which questions they answer, and whether models name the business."
      actions={
        <>
          <Everybodys checked={search.everybody} onChange={(chosen) => void navigate({ search: (was) => ({ ...was, everybody: chosen }) })} />
          <Allowed role="operator">
            <Button leftSection={<Globe size={16} aria-hidden />} onClick={() => adding(true)}>
              Analyse websites
            </Button>
          </Allowed>
        </>
      }
    >
      <List key={String(everybody)} everybody={everybody} add={() => adding(true)} />
      {search.add && <AddSites onClose={() => adding(false)} />}
    </Page>
  );
}

function List({ everybody, add }: { everybody: boolean; add: () => void }) {
  const found = useInfiniteQuery({
    queryKey: ["jobs", "analyses", everybody],
    queryFn: ({ pageParam, signal }) =>
      ask(api.GET("/api/analyses", { params: { query: { after: pageParam, userId: everybody ? "all" : "me" } }, signal })),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (last) => last.nextCursor ?? undefined,
  });
  const { rows, waiting, showNew } = useStanding(found, String(everybody), idOf);

  if (found.isPending) return <Loading />;
  if (found.isError && !found.data) return <Trouble error={found.error} again={() => void found.refetch()} />;
  if (rows.length === 0 && !found.hasNextPage)
    return (
      <Empty
        kind="nothing"
        title="No websites analysed yet"
        action={
          <Allowed role="operator">
            <Button onClick={add}>Analyse websites</Button>
          </Allowed>
        }
      >
        Give one address, a list, a sitemap or a CSV file. The model that comes along costs nothing and needs no network.
      </Empty>
    );
  return (
    <Stack>
      <NewPill waiting={waiting} onShow={showNew} />
      <Wide minWidth={820}>
        <Table verticalSpacing="sm" highlightOnHover aria-label="Analyses">
          <Table.Thead>
            <Table.Tr>
              <Table.Th w="28%">Analysis</Table.Th>
              <Table.Th>State</Table.Th>
              <Table.Th w="44%">Stages</Table.Th>
              <Table.Th ta="right">Sites</Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {rows.map((one) => (
              <Row key={one.jobId} analysis={one} owner={everybody} />
            ))}
          </Table.Tbody>
        </Table>
      </Wide>
      {found.hasNextPage && (
        <Group justify="center">
          <Button variant="default" loading={found.isFetchingNextPage} onClick={() => void found.fetchNextPage()}>
            Show older ones
          </Button>
        </Group>
      )}
    </Stack>
  );
}

function Row({ analysis, owner }: { analysis: Analysis; owner: boolean }) {
  return (
    <Table.Tr>
      <Table.Td>
        <GoTo to="/sites/$jobId" params={{ jobId: String(analysis.jobId) }} fw={500} className="stored">
          {analysis.name ?? `Analysis ${analysis.jobId}`}
        </GoTo>
        <Text size="xs" c="dimmed">
          {analysis.jobId} · <When at={analysis.createdAt} />
          {owner && analysis.owner && ` · ${analysis.owner}`}
        </Text>
      </Table.Td>
      <Table.Td>
        <Stack gap={4} align="flex-start">
          <StateBadge state={analysis.queueState} />
          {analysis.waitsForApproval && <ApprovalBadge />}
        </Stack>
      </Table.Td>
      <Table.Td>
        <StageProgress steps={analysis.steps} total={analysis.totalSites} />
      </Table.Td>
      <Table.Td ta="right" className="numbers">
        {count(analysis.totalSites)}
        <Text size="xs" c="dimmed">
          {percent(analysis.progress)}
        </Text>
      </Table.Td>
    </Table.Tr>
  );
}

/** Somebody has to read the prompts before models are asked. */
export function ApprovalBadge() {
  return (
    <Badge color="orange" variant="light" tt="none" leftSection={<Hand size={12} aria-hidden />} data-state="APPROVAL">
      Needs approval
    </Badge>
  );
}
