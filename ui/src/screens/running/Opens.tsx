import { Text } from "@mantine/core";
import { useEffect, useState } from "react";
import type { Schemas } from "~/api/client";
import { StateBadge } from "~/blocks/StateBadge";
import { duration } from "~/blocks/wording";
import { opensIn } from "./limitWords";

const STEP_MS = 200;

/** Open, or blocked and until when: it counts down on its own between two answers of the service. */
export function Opens({ limit, heardAt }: { limit: Schemas["LimitItem"]; heardAt: number }) {
  const [now, setNow] = useState(heardAt);
  const closed = limit.opensInSeconds > 0;
  useEffect(() => {
    if (!closed) return;
    const timer = setInterval(() => setNow(Date.now()), STEP_MS);
    return () => clearInterval(timer);
  }, [closed, heardAt]);
  const left = opensIn(limit.opensInSeconds, heardAt, now);
  if (left <= 0) return <StateBadge state="OPEN" look="DONE" word="Open" />;
  const blocked = limit.blockedSeconds > 0;
  return (
    <div data-opens>
      <StateBadge state={blocked ? "BLOCKED" : "USED_UP"} look={blocked ? "ERROR" : "PAUSED"} word={blocked ? "Blocked" : "Used up"} />
      <Text size="xs" className="numbers">
        opens in {duration(left)}
      </Text>
      {limit.blockedReason && (
        <Text size="xs" c="dimmed" className="stored" lineClamp={2} maw={220}>
          {limit.blockedReason}
        </Text>
      )}
    </div>
  );
}
