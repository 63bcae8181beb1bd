import { Table, Text } from "@mantine/core";
import type { Schemas } from "~/api/client";
import { count, milliseconds } from "~/blocks/wording";

type Decision = Schemas["StageDecision"];
export type NamedDecision = Decision & { worker: string };

/** What shrinks claims now, in words; null: nothing does. */
export function pressures(decision: Decision): string | null {
  const found = [
    [decision.cpuFactor, "CPU"],
    [decision.memoryFactor, "memory"],
    [decision.errorsFactor, "errors"],
  ] as const;
  const words = found.filter(([factor]) => factor !== null && factor < 1).map(([factor, cause]) => `${cause} × ${(factor ?? 1).toFixed(2)}`);
  if (decision.retrySpacing !== null && decision.retrySpacing > 1) words.push(`next tries wait × ${decision.retrySpacing.toFixed(1)}`);
  return words.length > 0 ? words.join(", ") : null;
}

/** How much each worker claims of a stage, or one worker of its stages, and why. */
export function Decisions({ decisions, named = "Worker" }: { decisions: NamedDecision[]; named?: string }) {
  if (decisions.length === 0)
    return (
      <Text size="sm" c="dimmed">
        No live worker serves it.
      </Text>
    );
  return (
    <Table.ScrollContainer minWidth={560} scrollAreaProps={{ viewportProps: { tabIndex: 0 } }}>
      <Table fz="sm">
        <Table.Thead>
          <Table.Tr>
            <Table.Th>{named}</Table.Th>
            <Table.Th ta="right">Claims</Table.Th>
            <Table.Th>Because</Table.Th>
            <Table.Th ta="right">Claimed, not started</Table.Th>
            <Table.Th ta="right">A run takes</Table.Th>
            <Table.Th>Held back by</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {decisions.map((one) => (
            <Table.Tr key={one.worker}>
              <Table.Td className="stored">{one.worker}</Table.Td>
              <Table.Td ta="right" className="numbers">
                {count(one.claim?.size)}
              </Table.Td>
              <Table.Td className="stored">{one.claim?.reason ?? "Nothing was claimed yet."}</Table.Td>
              <Table.Td ta="right" className="numbers">
                {count(one.inbox)}
              </Table.Td>
              <Table.Td ta="right" className="numbers">
                {milliseconds(one.ewmaMs)}
              </Table.Td>
              <Table.Td>{pressures(one) ?? "nothing"}</Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  );
}
