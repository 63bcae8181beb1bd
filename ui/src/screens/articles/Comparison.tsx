import { Card, CloseButton, Group, Select, Table, Text, Title } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { api, ask, type Schemas } from "~/api/client";
import { Empty } from "~/blocks/Empty";
import { GoTo } from "~/blocks/links";
import { Loading, Trouble } from "~/blocks/Trouble";
import { Wide } from "~/blocks/Wide";
import { count, milliseconds, percent } from "~/blocks/wording";

type Generation = Schemas["Generation"];
type Props = { a: Generation; b: Generation; others: Generation[]; onOther: (id: number) => void; onClose: () => void };

const score = (value: number | null) => (value === null ? "–" : value.toFixed(2));

/** Two generations on the saved queries of everybody. */
export function Comparison({ a, b, others, onOther, onClose }: Props) {
  const found = useQuery({
    queryKey: ["comparison", a.id, b.id],
    queryFn: ({ signal }) =>
      ask(api.GET("/api/article-index/generations/{generationId}/comparison", { params: { path: { generationId: a.id }, query: { with: b.id } }, signal })),
    staleTime: 0,
  });
  return (
    <Card withBorder padding="sm" component="section" aria-label="Comparison">
      <Group justify="space-between" wrap="nowrap" align="flex-start">
        <Group gap="xs">
          <Title order={2} size="h3" className="stored">
            {a.name} compared with
          </Title>
          <Select
            size="xs"
            aria-label="Compared with"
            data={others.map((one) => ({ value: String(one.id), label: one.name }))}
            value={String(b.id)}
            allowDeselect={false}
            onChange={(value) => value !== null && onOther(Number(value))}
          />
        </Group>
        <CloseButton aria-label="Close the comparison" onClick={onClose} />
      </Group>
      {found.isPending ? (
        <Loading />
      ) : found.isError ? (
        <Trouble error={found.error} again={() => void found.refetch()} />
      ) : found.data.queries.length === 0 ? (
        <Empty kind="nothing" title="No saved queries yet">
          Generations are compared on saved queries. Search for something, and choose <b>Save for comparisons</b>.
        </Empty>
      ) : (
        <Compared found={found.data} />
      )}
    </Card>
  );
}

function Compared({ found }: { found: Schemas["Comparison"] }) {
  const { a, b, queries, totals } = found;
  return (
    <Wide minWidth={860}>
      <Table mt="sm" verticalSpacing="xs" aria-label="Comparison on saved queries">
        <Table.Thead>
          <Table.Tr>
            <Table.Th>Query</Table.Th>
            <Table.Th>Found by both</Table.Th>
            <Table.Th className="stored">Expected, found by {a.name}</Table.Th>
            <Table.Th className="stored">by {b.name}</Table.Th>
            <Table.Th>How high (nDCG)</Table.Th>
            <Table.Th>Differences</Table.Th>
            <Table.Th>Time</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody className="numbers">
          {queries.map((one) => (
            <Table.Tr key={one.queryId}>
              <Table.Td className="stored">
                <GoTo to="/search" search={{ q: one.query }} size="sm">
                  {one.query}
                </GoTo>
                {one.notice && (
                  <Text size="xs" c="dimmed">
                    {one.notice}
                  </Text>
                )}
              </Table.Td>
              <Table.Td>{percent(one.overlap)}</Table.Td>
              <Table.Td>{one.expected.length === 0 ? "–" : `${one.expectedFoundA} of ${one.expected.length}`}</Table.Td>
              <Table.Td>{one.expected.length === 0 ? "–" : `${one.expectedFoundB} of ${one.expected.length}`}</Table.Td>
              <Table.Td>
                {score(one.ndcgA)} / {score(one.ndcgB)}
              </Table.Td>
              <Table.Td className="stored">
                <Differences one={one} a={a.name} b={b.name} />
              </Table.Td>
              <Table.Td>
                {milliseconds(one.msA)} / {milliseconds(one.msB)}
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
        <Table.Tfoot className="numbers">
          <Table.Tr>
            <Table.Th>All {count(totals.queries)}</Table.Th>
            <Table.Th>{totals.overlap === null ? "–" : percent(totals.overlap)}</Table.Th>
            <Table.Th>
              {count(totals.expectedFoundA)} of {count(totals.expected)}
            </Table.Th>
            <Table.Th>
              {count(totals.expectedFoundB)} of {count(totals.expected)}
            </Table.Th>
            <Table.Th>
              {score(totals.ndcgA)} / {score(totals.ndcgB)}
            </Table.Th>
            <Table.Th>the best {count(found.limit)} of each count</Table.Th>
            <Table.Th>
              {milliseconds(totals.msA)} / {milliseconds(totals.msB)}
            </Table.Th>
          </Table.Tr>
        </Table.Tfoot>
      </Table>
    </Wide>
  );
}

function Differences({ one, a, b }: { one: Schemas["QueryComparison"]; a: string; b: string }) {
  const parts = [
    ...one.moved.slice(0, 3).map((move) => `${move.slug}: place ${move.placeA} instead of ${move.placeB}`),
    ...(one.onlyInA.length > 0 ? [`only ${a}: ${one.onlyInA.slice(0, 3).join(", ")}`] : []),
    ...(one.onlyInB.length > 0 ? [`only ${b}: ${one.onlyInB.slice(0, 3).join(", ")}`] : []),
  ];
  if (parts.length === 0) return <>none</>;
  return (
    <>
      {parts.map((part) => (
        <Text key={part} size="xs">
          {part}
        </Text>
      ))}
    </>
  );
}
