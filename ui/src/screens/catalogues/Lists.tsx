import { Badge, Button, Group, Stack, Table, Text } from "@mantine/core";
import { useInfiniteQuery } from "@tanstack/react-query";
import { api, ask, type Schemas } from "~/api/client";
import { Empty } from "~/blocks/Empty";
import { GoTo, GoToButton } from "~/blocks/links";
import { NewPill } from "~/blocks/NewPill";
import { JobProgress } from "~/blocks/Progress";
import { StateBadge } from "~/blocks/StateBadge";
import { Loading, Trouble } from "~/blocks/Trouble";
import { When } from "~/blocks/When";
import { Wide } from "~/blocks/Wide";
import { count, percent } from "~/blocks/wording";
import { useStanding } from "~/grid/useStanding";
import { finders, foundShare } from "./quality";
import { Allowed } from "~/shell/Allowed";

const idOf = (list: Schemas["CatalogueBody"]) => list.jobId;

export function Lists({ everybody }: { everybody: boolean }) {
  const found = useInfiniteQuery({
    queryKey: ["jobs", "catalogues", everybody],
    queryFn: ({ pageParam, signal }) =>
      ask(api.GET("/api/catalogues", { params: { query: { after: pageParam, userId: everybody ? "all" : "me" } }, signal })),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => page.nextCursor ?? undefined,
  });
  const { rows: lists, waiting, showNew } = useStanding(found, String(everybody), idOf);
  if (found.isPending) return <Loading />;
  if (found.isError && !found.data) return <Trouble error={found.error} again={() => void found.refetch()} />;
  if (lists.length === 0 && !found.hasNextPage) {
    return (
      <Empty
        kind="nothing"
        title="No lists yet"
        action={
          <Allowed role="operator">
            <GoToButton to="/upload" search={{ pipeline: "catalogue" }} variant="default">
              Upload a list
            </GoToButton>
          </Allowed>
        }
      >
        A table of products, or photos of them, is looked up row by row. To try it: <code>penstock catalogue products import --sample</code>.
      </Empty>
    );
  }
  return (
    <Stack gap="sm">
      <NewPill waiting={waiting} onShow={showNew} />
      <Wide minWidth={820}>
        <Table verticalSpacing="xs" highlightOnHover>
          <Table.Thead>
            <Table.Tr>
              <Table.Th miw={170}>List</Table.Th>
              <Table.Th>State</Table.Th>
              <Table.Th w={180}>Progress</Table.Th>
              <Table.Th ta="right">Found</Table.Th>
              <Table.Th ta="right">Not found</Table.Th>
              <Table.Th ta="right">Failed</Table.Th>
              <Table.Th>Found by</Table.Th>
              <Table.Th>Sent</Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {lists.map((list) => (
              <Row key={list.jobId} list={list} everybody={everybody} />
            ))}
          </Table.Tbody>
        </Table>
      </Wide>
      {found.hasNextPage && (
        <Button variant="default" style={{ alignSelf: "center" }} loading={found.isFetchingNextPage} onClick={() => void found.fetchNextPage()}>
          Show older ones
        </Button>
      )}
    </Stack>
  );
}

function Row({ list, everybody }: { list: Schemas["CatalogueBody"]; everybody: boolean }) {
  const { counts } = list;
  const params = { jobId: String(list.jobId) };
  const share = foundShare(counts);
  const by = finders(list.answers);
  return (
    <Table.Tr>
      <Table.Td>
        <GoTo to="/catalogues/$jobId" params={params} className="stored">
          {list.name ?? list.fileName ?? `Job ${list.jobId}`}
        </GoTo>
        {everybody && (
          <Text size="xs" c="dimmed">
            {list.owner ?? "nobody"}
          </Text>
        )}
      </Table.Td>
      <Table.Td>
        <StateBadge state={list.queueState} />
      </Table.Td>
      <Table.Td>
        <JobProgress counts={counts} total={list.totalItems} size="sm" />
      </Table.Td>
      <Table.Td ta="right" className="numbers">
        {count(counts.done)}
        {share !== null && (
          <Text size="xs" c="dimmed">
            {percent(share)}
          </Text>
        )}
      </Table.Td>
      <Table.Td ta="right" className="numbers">
        {counts.notFound > 0 ? (
          <GoTo to="/catalogues/$jobId" params={params} search={{ status: ["NOT_FOUND"] }}>
            {count(counts.notFound)}
          </GoTo>
        ) : (
          0
        )}
        {list.looksAgainAt !== null && (
          <Text size="xs" c="dimmed">
            looks again <When at={list.looksAgainAt} />
          </Text>
        )}
      </Table.Td>
      <Table.Td ta="right" className="numbers">
        {counts.error > 0 ? (
          <GoTo to="/catalogues/$jobId" params={params} search={{ status: ["ERROR"] }}>
            {count(counts.error)}
          </GoTo>
        ) : (
          0
        )}
      </Table.Td>
      <Table.Td>
        <Group gap={4}>
          {by.length === 0
            ? "–"
            : by.map((one) => (
                <Badge key={one.provider} variant="default" tt="none">
                  {one.provider} {list.answersComplete ? "" : "≈ "}
                  {percent(one.share)}
                </Badge>
              ))}
        </Group>
      </Table.Td>
      <Table.Td>
        <When at={list.createdAt} />
      </Table.Td>
    </Table.Tr>
  );
}
