import { Table, Text, Title } from "@mantine/core";
import type { Schemas } from "~/api/client";
import { count, milliseconds, percent } from "~/blocks/wording";

/** What the providers of a list answered, in the order in which they are asked. */
export function Answers({ list }: { list: Schemas["CatalogueBody"] }) {
  const others = list.answers.map((one) => one.provider).filter((name) => !list.providers.includes(name));
  const names = [...list.providers.filter((name) => list.providersChosen || list.answers.some((one) => one.provider === name)), ...others];
  return (
    <section aria-label="Providers">
      <Title order={2} size="h3">
        Who was asked
      </Title>
      <Text size="sm" c="dimmed">
        {list.providersChosen ? `In the order chosen for this list: ${list.providers.join(", then ")}.` : "In the usual order."}
        {!list.answersComplete && ` Of the newest ${count(list.answersOf)} questions.`}
      </Text>
      {names.length === 0 ? (
        <Text size="sm" data-empty="nothing">
          Nobody was asked yet.
        </Text>
      ) : (
        <Table.ScrollContainer minWidth={640} type="native" tabIndex={0} role="region" aria-label="Answers of the providers">
          <Table verticalSpacing={4}>
            <Table.Thead>
              <Table.Tr>
                <Table.Th>Provider</Table.Th>
                <Table.Th ta="right">Asked</Table.Th>
                <Table.Th ta="right">Knew it</Table.Th>
                <Table.Th ta="right">Did not</Table.Th>
                <Table.Th ta="right">No answer</Table.Th>
                <Table.Th ta="right">On average</Table.Th>
                <Table.Th ta="right">Cost</Table.Th>
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody>
              {names.map((name, at) => {
                const one = list.answers.find((answer) => answer.provider === name);
                return (
                  <Table.Tr key={name} className="numbers">
                    <Table.Td className="stored">
                      {at + 1}. {name}
                      {one?.lastError && (
                        <Text size="xs" c="red" className="stored">
                          {one.lastError}
                        </Text>
                      )}
                    </Table.Td>
                    <Table.Td ta="right">{one ? count(one.asked) : "not yet"}</Table.Td>
                    <Table.Td ta="right">
                      {one ? `${count(one.hits)} (${percent(one.asked === 0 ? 0 : one.hits / one.asked)})` : "–"}
                    </Table.Td>
                    <Table.Td ta="right">{one ? count(one.misses) : "–"}</Table.Td>
                    <Table.Td ta="right">{one ? count(one.unanswered) : "–"}</Table.Td>
                    <Table.Td ta="right">{one ? milliseconds(one.milliseconds) : "–"}</Table.Td>
                    <Table.Td ta="right">{one && one.cost > 0 ? one.cost.toFixed(4) : "–"}</Table.Td>
                  </Table.Tr>
                );
              })}
            </Table.Tbody>
          </Table>
        </Table.ScrollContainer>
      )}
    </section>
  );
}
