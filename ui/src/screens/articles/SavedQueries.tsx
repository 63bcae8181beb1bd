import { Button, Group, Stack, Table, Text } from "@mantine/core";
import { useMutation, useQuery } from "@tanstack/react-query";
import { BookmarkPlus, Trash2 } from "lucide-react";
import { useState } from "react";
import { api, ask, type Schemas } from "~/api/client";
import { Empty } from "~/blocks/Empty";
import { GoTo } from "~/blocks/links";
import { Loading, Trouble } from "~/blocks/Trouble";
import { When } from "~/blocks/When";
import { Wide } from "~/blocks/Wide";
import { Allowed } from "~/shell/Allowed";
import { useMe } from "~/shell/me";
import { SaveQuery } from "./SaveQuery";

/** Queries with what they should find: generations are compared on them. */
export function SavedQueries() {
  const userId = useMe().role === "admin" ? ("all" as const) : ("me" as const);
  const [adding, setAdding] = useState(false);
  const found = useQuery({
    queryKey: ["object", "article", "queries", userId],
    queryFn: ({ signal }) => ask(api.GET("/api/article-index/queries", { params: { query: { userId } }, signal })),
  });
  return (
    <Stack>
      <Group justify="space-between">
        <Text size="sm" c="dimmed">
          Generations are compared on everybody's saved queries.
        </Text>
        <Allowed role="operator">
          <Button size="xs" variant="default" leftSection={<BookmarkPlus size={14} aria-hidden />} onClick={() => setAdding(true)}>
            Add a query
          </Button>
        </Allowed>
      </Group>
      {found.isPending ? (
        <Loading />
      ) : found.isError ? (
        <Trouble error={found.error} again={() => void found.refetch()} />
      ) : found.data.items.length === 0 ? (
        <Empty kind="nothing" title="No saved queries yet">
          Search for something, and choose <b>Save for comparisons</b>.
        </Empty>
      ) : (
        <Wide minWidth={620} deeds>
          <Table verticalSpacing="xs" aria-label="Saved queries">
            <Table.Thead>
              <Table.Tr>
                <Table.Th>Query</Table.Th>
                <Table.Th>Should find</Table.Th>
                <Table.Th>Saved</Table.Th>
                <Table.Th aria-label="What can be done" />
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody>
              {found.data.items.map((one) => (
                <Row key={one.id} query={one} />
              ))}
            </Table.Tbody>
          </Table>
        </Wide>
      )}
      {adding && <SaveQuery onClose={() => setAdding(false)} />}
    </Stack>
  );
}

function Row({ query }: { query: Schemas["SavedQuery"] }) {
  const remove = useMutation({
    mutationFn: () => ask(api.DELETE("/api/article-index/queries/{queryId}", { params: { path: { queryId: query.id } } })),
    meta: { touches: [["object", "article", "queries"]] },
  });
  return (
    <Table.Tr>
      <Table.Td className="stored">
        <GoTo to="/search" search={{ q: query.query }} size="sm">
          {query.query}
        </GoTo>
      </Table.Td>
      <Table.Td>
        {query.expected.length === 0
          ? "–"
          : query.expected.map((slug) => (
              <GoTo key={slug} to="/articles/$slug" params={{ slug }} size="sm" display="block" className="stored">
                {slug}
              </GoTo>
            ))}
      </Table.Td>
      <Table.Td>
        {query.owner}, <When at={query.createdAt} />
      </Table.Td>
      <Table.Td ta="right">
        <Allowed role="operator" owner={query.owner}>
          <Button size="xs" variant="default" leftSection={<Trash2 size={14} aria-hidden />} loading={remove.isPending} onClick={() => remove.mutate()}>
            Forget
          </Button>
        </Allowed>
      </Table.Td>
    </Table.Tr>
  );
}
