import { Button, Group, Progress, Table, Text, Tooltip } from "@mantine/core";
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { Plus } from "lucide-react";
import { useState } from "react";
import { api, ask, type Schemas } from "~/api/client";
import { Empty } from "~/blocks/Empty";
import { GoTo } from "~/blocks/links";
import { Page } from "~/blocks/Page";
import { StateBadge } from "~/blocks/StateBadge";
import { Loading, Trouble } from "~/blocks/Trouble";
import { When } from "~/blocks/When";
import { Wide } from "~/blocks/Wide";
import { count, many } from "~/blocks/wording";
import { Allowed } from "~/shell/Allowed";
import { LimitActions, LimitForm } from "./LimitActions";
import { Opens } from "./Opens";
import { rateWords } from "./limitWords";
import { stageName, type Stage } from "./wording";

type Limit = Schemas["LimitItem"];

const route = getRouteApi("/limits");
/** Workers take permits all the time, and nothing tells of each. */
const LOOK_AGAIN_MS = 2000;
const PAGE = 100;

export function Limits() {
  const { key: chosen } = route.useSearch();
  const [adding, setAdding] = useState(false);
  const found = useInfiniteQuery({
    queryKey: ["object", "limit"],
    queryFn: ({ pageParam, signal }) => ask(api.GET("/api/limits", { params: { query: { pageSize: PAGE, after: pageParam } }, signal })),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.nextCursor,
    refetchInterval: (query) => (query.state.data?.pages[0]?.items.length ? LOOK_AGAIN_MS : false),
  });
  const stages = useQuery({ queryKey: ["stages"], queryFn: ({ signal }) => ask(api.GET("/api/stages", { signal })) });
  const all = found.data?.pages.flatMap((page) => page.items) ?? [];
  const shown = chosen === undefined ? all : all.filter((one) => one.key === chosen);
  return (
    <Page
      title="Limits"
      about="Budgets of providers, hosts and tenants, exact in the whole fleet. A handler asks with ctx.limiter(key)."
      actions={
        <Allowed role="operator">
          <Button leftSection={<Plus size={16} aria-hidden />} onClick={() => setAdding(true)}>
            Set a limit
          </Button>
        </Allowed>
      }
    >
      {adding && <LimitForm onClose={() => setAdding(false)} />}
      {chosen !== undefined && (
        <Group gap="xs">
          <Text size="sm" className="stored">
            Only {chosen}.
          </Text>
          <GoTo to="/limits" search={{}} size="sm">
            Show all limits
          </GoTo>
        </Group>
      )}
      {found.isPending ? (
        <Loading />
      ) : found.isError ? (
        <Trouble error={found.error} again={() => void found.refetch()} />
      ) : all.length === 0 ? (
        <Empty kind="nothing" title="No limits yet">
          Without one a key is not limited. Set the rate that a provider allows, and every worker together keeps to it.
        </Empty>
      ) : shown.length === 0 && !found.hasNextPage ? (
        <Empty kind="filtered" title="No such limit">
          Nobody has limited or closed this key. {many(all.length, "other limit")} {all.length === 1 ? "is" : "are"} there.
        </Empty>
      ) : (
        <Wide minWidth={960} deeds>
          <Table verticalSpacing="xs" highlightOnHover>
            <Table.Thead>
              <Table.Tr>
                <Table.Th>Key</Table.Th>
                <Table.Th>Budget</Table.Th>
                <Table.Th>Left</Table.Th>
                <Table.Th>Now</Table.Th>
                <Table.Th>Asked to slow down</Table.Th>
                <Table.Th>Stops after failures</Table.Th>
                <Table.Th aria-label="What can be done" />
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody>
              {shown.map((limit) => (
                <Row key={limit.key} limit={limit} heardAt={found.dataUpdatedAt} stages={heldUp(stages.data?.items ?? [], limit.key)} />
              ))}
            </Table.Tbody>
          </Table>
        </Wide>
      )}
      {found.hasNextPage && (
        <Group justify="center">
          <Button variant="default" loading={found.isFetchingNextPage} onClick={() => void found.fetchNextPage()}>
            Show more
          </Button>
        </Group>
      )}
    </Page>
  );
}

function heldUp(stages: Stage[], key: string): Stage[] {
  return stages.filter((stage) => stage.heldUpBy === key);
}

function Row({ limit, heardAt, stages }: { limit: Limit; heardAt: number; stages: Stage[] }) {
  return (
    <Table.Tr data-limit={limit.key}>
      <Table.Td maw={260}>
        <GoTo to="/limits" search={{ key: limit.key }} fw={500} className="stored">
          {limit.key}
        </GoTo>
        {stages.map((stage) => (
          <Text size="xs" c="dimmed" key={`${stage.pipeline}/${stage.stage}`}>
            holds up{" "}
            <GoTo to="/stages/$pipeline/$stage" params={{ pipeline: stage.pipeline, stage: stage.stage }}>
              {stageName(stage)}
            </GoTo>
          </Text>
        ))}
      </Table.Td>
      <Table.Td className="numbers">
        {rateWords(limit.rate)}
        {limit.rate !== null && (
          <Text size="xs" c="dimmed">
            {count(limit.burst)} at once · in {limit.store === "redis" ? "Redis" : "PostgreSQL"}
          </Text>
        )}
      </Table.Td>
      <Table.Td miw={110}>
        <Left limit={limit} />
      </Table.Td>
      <Table.Td>
        <Opens limit={limit} heardAt={heardAt} />
      </Table.Td>
      <Table.Td maw={240}>
        {limit.penalties === 0 ? (
          "never"
        ) : (
          <>
            {many(limit.penalties, "time")}
            <Text size="xs" c="dimmed" className="stored" lineClamp={2}>
              last <When at={limit.penalisedAt} />
              {limit.penaltyReason && `: ${limit.penaltyReason}`}
            </Text>
          </>
        )}
      </Table.Td>
      <Table.Td>
        <Circuit limit={limit} />
      </Table.Td>
      <Table.Td>
        <LimitActions limit={limit} />
      </Table.Td>
    </Table.Tr>
  );
}

function Left({ limit }: { limit: Limit }) {
  if (limit.rate === null) return <>–</>;
  if (limit.available === null)
    return (
      <Text size="sm" c="dimmed">
        Redis does not answer
      </Text>
    );
  const left = Math.max(0, limit.available);
  const label = `${count(left)} of ${count(limit.burst)} calls may start now`;
  return (
    <div role="img" aria-label={label}>
      <Progress.Root size="sm">
        <Progress.Section value={(left / limit.burst) * 100} color={left > 0 ? "green" : "orange"} withAria={false} />
      </Progress.Root>
      <Text size="xs" c="dimmed" className="numbers">
        {count(left)}/{count(limit.burst)} left
        {limit.available < 0 && limit.blockedSeconds === 0 && `, ${count(-limit.available)} ahead`}
      </Text>
    </div>
  );
}

const CIRCUITS: Record<string, [string, string]> = {
  closed: ["Calls go through", "DONE"],
  open: ["Stopped", "ERROR"],
  due: ["To be tried", "PAUSED"],
  probing: ["Being tried", "PROCESSING"],
};

function Circuit({ limit }: { limit: Limit }) {
  if (limit.circuit === null) return <>–</>;
  const [word, look] = CIRCUITS[limit.circuit] ?? [limit.circuit, "PENDING"];
  return (
    <>
      <Tooltip label={`Circuit breaker: ${limit.circuit}`}>
        <span>
          <StateBadge state={limit.circuit} word={word} look={look} />
        </span>
      </Tooltip>
      <Text size="xs" c="dimmed" className="numbers">
        {count(limit.failures)} of {count(limit.circuitFailures)} failures
      </Text>
    </>
  );
}
