import { Progress, Text, Tooltip } from "@mantine/core";
import { count, many, percent, stateWord } from "./wording";

/** Counts by state, as `Counts` of a job has them. */
export type CountsByState = {
  pending: number;
  processing: number;
  done: number;
  error: number;
  notFound: number;
  skipped: number;
  cancelled: number;
};

const PARTS: [keyof CountsByState, string, string][] = [
  ["done", "DONE", "green"],
  ["notFound", "NOT_FOUND", "grape"],
  ["skipped", "SKIPPED", "gray.5"],
  ["cancelled", "CANCELLED", "gray.6"],
  ["error", "ERROR", "red"],
  ["processing", "PROCESSING", "blue"],
];

/** How far a job is: a bar of its states, and the same in words. */
export function JobProgress({ counts, total, size = "md" }: { counts: CountsByState; total: number; size?: "sm" | "md" | "lg" }) {
  const ended = total - counts.pending - counts.processing;
  const words = PARTS.filter(([key]) => counts[key] > 0).map(([key, state]) => `${count(counts[key])} ${key === "processing" ? "taken by workers" : stateWord(state).toLowerCase()}`);
  const label = total === 0 ? "No items yet" : `${many(ended, "item")} of ${count(total)} ended: ${words.join(", ") || "none yet"}`;
  return (
    <div>
      <Tooltip label={label} multiline maw={320}>
        <Progress.Root size={size} role="img" aria-label={label}>
          {PARTS.map(([key, , color]) => (
            <Progress.Section key={key} value={total === 0 ? 0 : (counts[key] / total) * 100} color={color} withAria={false} />
          ))}
        </Progress.Root>
      </Tooltip>
      <Text size="xs" c="dimmed" className="numbers">
        {count(ended)}/{count(total)} {total > 0 && percent(ended / total)}
        {counts.error > 0 && ` · ${count(counts.error)} failed`}
      </Text>
    </div>
  );
}
