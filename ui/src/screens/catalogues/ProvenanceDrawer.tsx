import { Anchor, Group, Stack, Table, Text, Title } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { CircleCheck, CircleHelp, TriangleAlert } from "lucide-react";
import { api, ask, type Schemas } from "~/api/client";
import { Drawer } from "~/blocks/Drawer";
import { Facts } from "~/blocks/Facts";
import { GoTo } from "~/blocks/links";
import { StateBadge } from "~/blocks/StateBadge";
import { Loading, Trouble } from "~/blocks/Trouble";
import { When } from "~/blocks/When";
import { count, milliseconds, percent } from "~/blocks/wording";
import { webAddress } from "~/blocks/webAddress";
import { shown } from "./quality";

type Provenance = Schemas["ProvenanceBody"];

export function ProvenanceDrawer({ jobId, itemId, onClose }: { jobId: number; itemId: number; onClose: () => void }) {
  const found = useQuery({
    queryKey: ["job", jobId, "provenance", itemId],
    queryFn: ({ signal }) => ask(api.GET("/api/catalogues/{jobId}/items/{itemId}", { params: { path: { jobId, itemId } }, signal })),
  });
  const title = found.data?.row ? `Row ${count(found.data.row)}` : `Item ${itemId}`;
  return (
    <Drawer title={title} onClose={onClose}>
      {found.isPending ? <Loading /> : found.isError ? <Trouble error={found.error} again={() => void found.refetch()} /> : <Body product={found.data} />}
    </Drawer>
  );
}

function Body({ product }: { product: Provenance }) {
  return (
    <Stack gap="lg">
      <Group gap="sm">
        <StateBadge state={product.status} />
        {product.match && (
          <Text size="sm">
            by {product.match}
            {product.score !== null && `, ${percent(product.score)} sure`}
          </Text>
        )}
        <GoTo to="/items/$itemId" params={{ itemId: String(product.itemId) }} size="sm">
          Whole item
        </GoTo>
      </Group>
      {product.reason && (
        <Text size="sm" className="stored">
          {product.reason}
        </Text>
      )}
      {product.fields.length > 0 && <Found fields={product.fields} />}
      <section>
        <Title order={3} size="h4">
          What was given
        </Title>
        {product.image !== null && <Facts rows={[["Image", product.image]]} />}
        <Facts rows={product.cells.map((cell) => [cell.role ? `${cell.column} (${cell.role})` : cell.column, cell.value])} />
      </section>
      {Object.keys(product.understood).length > 0 && (
        <section>
          <Title order={3} size="h4">
            What was understood
          </Title>
          <Facts rows={Object.entries(product.understood).map(([name, value]) => [name, shown(value)])} />
        </section>
      )}
      {Object.keys(product.problems).length > 0 && (
        <section>
          <Title order={3} size="h4">
            What could not be used
          </Title>
          <Facts rows={Object.entries(product.problems)} />
        </section>
      )}
      <Questions product={product} />
    </Stack>
  );
}

function Found({ fields }: { fields: Provenance["fields"] }) {
  return (
    <section>
      <Title order={3} size="h4">
        What was found, and by whom
      </Title>
      <Table verticalSpacing={4}>
        <Table.Thead>
          <Table.Tr>
            <Table.Th>Value</Table.Th>
            <Table.Th>From</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {fields.map((field) => (
            <Table.Tr key={field.column}>
              <Table.Td>
                <Text size="xs" c="dimmed" className="stored">
                  {field.column}
                </Text>
                <Value value={field.value} />
              </Table.Td>
              <Table.Td>
                {field.provider ? (
                  <>
                    <Text size="sm" className="stored">
                      {field.provider}
                    </Text>
                    <Text size="xs" c="dimmed" className="stored">
                      {field.query}, <When at={field.at} />
                    </Text>
                  </>
                ) : (
                  <Text size="xs" c="dimmed">
                    {field.value === null ? "nobody said" : "not from a provider"}
                  </Text>
                )}
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </section>
  );
}

function Value({ value }: { value: unknown }) {
  const address = webAddress(value);
  if (address === null) return <span className="stored">{shown(value)}</span>;
  return (
    <Anchor href={address} target="_blank" rel="noopener noreferrer" className="stored">
      {shown(value)}
    </Anchor>
  );
}

function Questions({ product }: { product: Provenance }) {
  return (
    <section>
      <Title order={3} size="h4">
        Who was asked what
      </Title>
      {product.questions.length === 0 ? (
        <Text size="sm" c="dimmed">
          Nobody was asked{product.status === "PENDING" || product.status === "PROCESSING" ? " yet" : ""}.
        </Text>
      ) : (
        <Stack gap={6} component="ol" p={0} m={0} style={{ listStyle: "none" }}>
          {product.questions.map((one, at) => (
            <li key={at}>
              <Group gap={6} wrap="nowrap" align="flex-start">
                <Answer hit={one.hit} />
                <div>
                  <Text size="sm" className="stored">
                    {one.provider}: {one.query}
                  </Text>
                  <Text size="xs" c="dimmed" className="stored">
                    {one.hit === null ? (one.error ?? "no answer") : one.hit ? "knew it" : "did not know it"}, attempt {one.attempt}, {milliseconds(one.milliseconds)},{" "}
                    <When at={one.at} />
                  </Text>
                </div>
              </Group>
            </li>
          ))}
          {product.moreQuestions && <Text size="xs">Older questions are not shown.</Text>}
        </Stack>
      )}
    </section>
  );
}

function Answer({ hit }: { hit: boolean | null }) {
  if (hit === null) return <TriangleAlert size={16} aria-hidden style={{ flex: "none", marginTop: 3 }} />;
  const Icon = hit ? CircleCheck : CircleHelp;
  return <Icon size={16} aria-hidden style={{ flex: "none", marginTop: 3 }} />;
}
