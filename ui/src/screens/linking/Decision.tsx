import { Text } from "@mantine/core";
import { When } from "~/blocks/When";
import type { LinkRecord } from "./projects";
import { recordWord } from "./Standing";

/** "Accepted as Ada (Q1) by bob, 3 s ago"; nothing where nothing was decided. */
export function Decision({ record }: { record: LinkRecord }) {
  if (record.decidedAt === null) return null;
  return (
    <Text size="sm" className="stored" component="span">
      {recordWord(record.state)}
      {record.entity ? ` as ${record.label ?? record.entity} (${record.entity})` : ""} {record.decidedBy === null ? "by its score" : `by ${record.decidedBy}`},{" "}
      <When at={record.decidedAt} />
    </Text>
  );
}
