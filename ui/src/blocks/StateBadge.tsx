import { Badge } from "@mantine/core";
import {
  Ban,
  CircleCheck,
  CircleDashed,
  CircleHelp,
  CirclePause,
  CircleSlash,
  Clock,
  LoaderCircle,
  TriangleAlert,
  type LucideIcon,
} from "lucide-react";
import { stateWord } from "./wording";

const LOOKS: Record<string, [LucideIcon, string]> = {
  PENDING: [Clock, "gray"],
  QUEUED: [Clock, "gray"],
  PROCESSING: [LoaderCircle, "blue"],
  RUNNING: [LoaderCircle, "blue"],
  PAUSED: [CirclePause, "orange"],
  DONE: [CircleCheck, "green"],
  ERROR: [TriangleAlert, "red"],
  FAILED: [TriangleAlert, "red"],
  NOT_FOUND: [CircleHelp, "grape"],
  SKIPPED: [CircleSlash, "gray"],
  CANCELLED: [Ban, "gray"],
};

/** The state of an item. What was not found and is looked for again waits, and says so. */
export function ItemState({ item }: { item: { status: string; looksAgainAt: string | null } }) {
  return item.looksAgainAt === null ? <StateBadge state={item.status} /> : <StateBadge state={item.status} word="Not found yet" look="NOT_FOUND" />;
}

/** State = icon + word + colour. `word` replaces the usual word, e.g. "Indexed". */
export function StateBadge({ state, word, look = state }: { state: string; word?: string; look?: string }) {
  const [Icon, color] = LOOKS[look] ?? [CircleDashed, "gray"];
  return (
    <Badge color={color} variant="light" tt="none" className="state" data-state={state} leftSection={<Icon size={12} aria-hidden />}>
      {word ?? stateWord(state)}
    </Badge>
  );
}
