import { Table, Text } from "@mantine/core";
import type { Schemas } from "~/api/client";
import { GoTo } from "~/blocks/links";
import { StateBadge } from "~/blocks/StateBadge";
import { useNow } from "~/blocks/When";
import { duration } from "~/blocks/wording";

type Processor = Schemas["Processor"];

/** Processors that are not idle, as of the last heartbeats. */
export function AtWork({ processors, of = "stage" }: { processors: Processor[]; of?: "stage" | "worker" }) {
  const now = useNow();
  if (processors.length === 0)
    return (
      <Text size="sm" c="dimmed">
        Nobody is busy.
      </Text>
    );
  return (
    <Table.ScrollContainer minWidth={480} scrollAreaProps={{ viewportProps: { tabIndex: 0 } }}>
      <Table fz="sm">
        <Table.Thead>
          <Table.Tr>
            <Table.Th>Processor</Table.Th>
            <Table.Th>{of === "stage" ? "Worker" : "Stage"}</Table.Th>
            <Table.Th>State</Table.Th>
            <Table.Th>Item</Table.Th>
            <Table.Th>For</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {processors.map((one) => (
            <Table.Tr key={`${one.worker} ${one.name}`}>
              <Table.Td className="stored">{one.name}</Table.Td>
              <Table.Td className="stored">{of === "stage" ? one.worker : one.stage}</Table.Td>
              <Table.Td>
                {one.state === "error" ? <StateBadge state="STUCK" look="ERROR" word="Stuck" /> : <StateBadge state="BUSY" look="PROCESSING" word="Busy" />}
              </Table.Td>
              <Table.Td>
                {one.taskId === null ? (
                  <Text size="sm" c="dimmed">
                    of somebody else
                  </Text>
                ) : (
                  <GoTo to="/items/$itemId" params={{ itemId: String(one.taskId) }}>
                    {one.taskId}
                  </GoTo>
                )}
              </Table.Td>
              <Table.Td className="numbers">{duration((now - Date.parse(one.since)) / 1000)}</Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  );
}
