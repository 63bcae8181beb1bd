import { Group, Text, Tooltip } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { api, ask, type Schemas } from "~/api/client";
import { StateBadge } from "~/blocks/StateBadge";
import { useNow } from "~/blocks/When";
import classes from "./articles.module.css";
import { CHIPS, whyOf, type Chip } from "./standing";

const STAGE = { pipeline: "articles", stage: "articles" };

/** The stage that embeds articles: whether it is paused, and whether anybody works there. */
export function useEmbeddingStage(): Schemas["StageDetail"] | undefined {
  return useQuery({
    queryKey: ["stages", "articles", "articles"],
    queryFn: ({ signal }) => ask(api.GET("/api/stages/{pipeline}/{stage}", { params: { path: STAGE }, signal })),
  }).data;
}

export function ChipBadge({ chip }: { chip: Chip }) {
  const { word, look, means } = CHIPS[chip];
  return (
    <Tooltip label={means} multiline maw={300} openDelay={300}>
      <span>
        <StateBadge state={chip} word={word} look={look} />
      </span>
    </Tooltip>
  );
}

/** Where an article stands in the index, and beside it why it waits or what went wrong. */
export function IndexChip({ embedding, oneLine }: { embedding: Schemas["EmbeddingStatus"]; oneLine?: boolean }) {
  const stage = useEmbeddingStage();
  const why = whyOf(embedding, stage, useNow());
  return (
    <Group gap={8} wrap={oneLine ? "nowrap" : "wrap"} data-chip={embedding.chip}>
      <ChipBadge chip={embedding.chip} />
      {why !== null && (
        <Text size="xs" c="dimmed" span className={oneLine ? classes.clamp : "stored"} title={oneLine ? why : undefined}>
          {why}
        </Text>
      )}
    </Group>
  );
}
