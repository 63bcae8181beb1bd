// How far a project is, in words, badges and a bar.
import { Alert, Badge, Group, List, Progress, Stack, Text } from "@mantine/core";
import { Ban, CircleCheck, CircleDashed, CircleSlash, CircleX, Clock, Eye, LoaderCircle, TriangleAlert, type LucideIcon } from "lucide-react";
import { count, duration, many, percent, rate } from "~/blocks/wording";
import type { Project, RecordState } from "./projects";

// Some of Mantine's colours are too pale for a badge's small letters on their own light ground.
const DARKER: Record<string, { root: { color: string } }> = {
  orange: { root: { color: "light-dark(#9a3412, var(--mantine-color-orange-3))" } },
  green: { root: { color: "light-dark(#1b5e2a, var(--mantine-color-green-3))" } },
};

const LOOKS: Record<RecordState, [LucideIcon, string, string]> = {
  NEW: [CircleDashed, "gray", "Not matched yet"],
  QUEUED: [Clock, "gray", "Queued"],
  MATCHING: [LoaderCircle, "blue", "Matching"],
  REVIEW: [Eye, "orange", "Needs review"],
  ACCEPTED: [CircleCheck, "green", "Accepted"],
  REJECTED: [CircleX, "grape", "No match"],
  NO_CANDIDATE: [CircleSlash, "gray", "No candidate"],
  ERROR: [TriangleAlert, "red", "Failed"],
  CANCELLED: [Ban, "gray", "Cancelled"],
};

export function recordWord(state: RecordState): string {
  return LOOKS[state][2];
}

export function RecordBadge({ state }: { state: RecordState }) {
  const [Icon, color, word] = LOOKS[state];
  return (
    <Badge color={color} styles={DARKER[color]} variant="light" tt="none" className="state" data-state={state} leftSection={<Icon size={12} aria-hidden />}>
      {word}
    </Badge>
  );
}

const BARS: [RecordState, string][] = [
  ["ACCEPTED", "green"],
  ["REJECTED", "grape"],
  ["NO_CANDIDATE", "gray.5"],
  ["CANCELLED", "gray.6"],
  ["ERROR", "red"],
  ["REVIEW", "orange"],
  ["MATCHING", "blue"],
];

// Behind a number.
const COUNTED: Partial<Record<RecordState, string>> = { REVIEW: "to review", NO_CANDIDATE: "without a candidate", REJECTED: "without a match" };

/** A bar of the states, and the same in words. */
export function ProjectBar({ project }: { project: Project }) {
  const { counts, total, ended } = project.progress;
  const words = BARS.filter(([state]) => counts[state]).map(([state]) => `${count(counts[state])} ${COUNTED[state] ?? recordWord(state).toLowerCase()}`);
  const matched = total - (counts.NEW ?? 0) - (counts.QUEUED ?? 0) - (counts.MATCHING ?? 0);
  const done = project.running ? ended : matched;
  const told = words.join(", ") || "none matched yet";
  return (
    <Stack gap={4}>
      <Progress.Root size="lg" role="img" aria-label={`${many(total, "record")}: ${told}`}>
        {BARS.map(([state, color]) => (
          <Progress.Section key={state} value={total === 0 ? 0 : ((counts[state] ?? 0) / total) * 100} color={color} withAria={false} />
        ))}
      </Progress.Root>
      <Text size="xs" className="numbers">
        {count(done)}/{count(total)} {total > 0 && percent(done / total)} · {told}
      </Text>
    </Stack>
  );
}

/** Pace, how long still, and what holds it up. Nothing while nothing runs. */
export function Pace({ project }: { project: Project }) {
  if (!project.running) return null;
  const { perSecond, etaSeconds, requestsLeft, requestsDone, cause } = project.progress;
  const left = etaSeconds === null ? `${many(requestsLeft, "request")} left` : `about ${duration(etaSeconds)} left at ${rate(perSecond)}`;
  return (
    <Text size="xs" className="numbers stored" data-pace>
      {count(requestsDone)} requests done, {left}
      {cause ? `; ${cause}` : ""}.
    </Text>
  );
}

export function Failures({ project }: { project: Project }) {
  const { failures, counts } = project.progress;
  if (!counts.ERROR || failures.length === 0) return null;
  return (
    <Alert color="red" icon={<TriangleAlert aria-hidden />} title={`${many(counts.ERROR, "record")} failed`}>
      <List size="sm">
        {failures.map((one) => (
          <List.Item key={one.reason ?? ""} className="stored">
            {count(one.count)} × {one.reason ?? "no reason was kept"}
          </List.Item>
        ))}
      </List>
    </Alert>
  );
}

/** One word about the whole project: what is the next thing to happen. */
export function ProjectState({ project }: { project: Project }) {
  const { counts } = project.progress;
  const state: RecordState = project.running ? "MATCHING" : counts.REVIEW ? "REVIEW" : counts.NEW || counts.CANCELLED ? "NEW" : counts.ERROR ? "ERROR" : "ACCEPTED";
  if (state !== "ACCEPTED") return <RecordBadge state={state} />;
  return (
    <Badge color="green" styles={DARKER.green} variant="light" tt="none" leftSection={<CircleCheck size={12} aria-hidden />}>
      Done
    </Badge>
  );
}

export function Swatches({ items }: { items: [string, string][] }) {
  return (
    <Group gap="md">
      {items.map(([className, word]) => (
        <Text key={word} size="xs">
          <span className={className} aria-hidden /> {word}
        </Text>
      ))}
    </Group>
  );
}
