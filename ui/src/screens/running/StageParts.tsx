import { Badge, Group, Text, Tooltip } from "@mantine/core";
import { TriangleAlert } from "lucide-react";
import { StateBadge } from "~/blocks/StateBadge";
import { When } from "~/blocks/When";
import { count } from "~/blocks/wording";
import type { Stage } from "./wording";

/** Idle, busy and in error, as of the last heartbeats. */
export function Processors({ processors, workers }: Pick<Stage, "processors" | "workers">) {
  const { idle = 0, busy = 0, error = 0 } = processors;
  if (workers === 0) return <StateBadge state="NO_WORKER" look="ERROR" word="No worker" />;
  return (
    <>
      <span style={{ whiteSpace: "nowrap" }} className="numbers">
        {count(busy)} busy, {count(idle)} idle
      </span>
      {error > 0 && (
        <Tooltip label="Past their deadline or asked to stop, and still holding their item.">
          <Badge color="red" variant="light" tt="none" miw="max-content" leftSection={<TriangleAlert size={12} aria-hidden />}>
            {count(error)} stuck
          </Badge>
        </Tooltip>
      )}
    </>
  );
}

/** Who paused it and why. */
export function PausedNote({ stage }: { stage: Stage }) {
  if (!stage.pausedAt) return null;
  return (
    <Group gap={6}>
      <StateBadge state="PAUSED" />
      <Text size="xs" c="dimmed" className="stored">
        by {stage.pausedBy ?? "somebody"}, <When at={stage.pausedAt} />
        {stage.pauseReason && `: ${stage.pauseReason}`}
      </Text>
    </Group>
  );
}

export function Transport({ stage }: { stage: Stage }) {
  if (!stage.transport) return <>–</>;
  const away = stage.brokerAwaySeconds > 0;
  return (
    <>
      {stage.transport}
      {stage.inBroker > 0 && (
        <Text size="xs" c="dimmed">
          {count(stage.inBroker)} sent
        </Text>
      )}
      {(stage.brokerBypassed || away) && (
        <Text size="xs" c="red">
          {away ? "does not answer" : "bypassed"}
        </Text>
      )}
    </>
  );
}
