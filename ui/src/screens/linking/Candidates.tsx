// Candidates of a record: who they are, how sure it is, and why.
import { Anchor, Button, Group, Kbd, Stack, Text } from "@mantine/core";
import { ChevronDown, ChevronRight, ExternalLink } from "lucide-react";
import { useState, type ReactNode } from "react";
import { webAddress } from "~/blocks/webAddress";
import { pageOf } from "./entity";
import classes from "./linking.module.css";
import type { Candidate, RecordDetail } from "./projects";
import { featureName } from "./roles";
import { RecordBadge } from "./Standing";
import { gapOf, points, score, waterfall } from "./waterfall";

/** An id as text; a link only where it surely leads to a page of the web. */
export function EntityId({ entity, pages }: { entity: string; pages: string | null }) {
  const page = pageOf(entity, pages);
  if (page === null) return <span className="stored mono">{entity}</span>;
  return (
    <Anchor href={page} target="_blank" rel="noopener noreferrer" underline="always" className="stored mono">
      {entity} <ExternalLink size={11} aria-label="opens in another tab" />
    </Anchor>
  );
}

export function Cell({ text }: { text: string }) {
  const address = webAddress(text);
  if (address === null) return <span className="stored">{text}</span>;
  return (
    <Anchor href={address} target="_blank" rel="noopener noreferrer" underline="always" className="stored" inherit>
      {text}
    </Anchor>
  );
}

type Props = {
  record: RecordDetail;
  pages: string | null;
  /** With a number in front of each, which is also its key. */
  keys?: boolean;
  action: (candidate: Candidate) => ReactNode;
  /** So many are shown with their bars. */
  open?: number;
};

export function Candidates({ record, pages, keys, action, open = 2 }: Props) {
  const scores = record.candidates.map((one) => one.score);
  if (record.candidates.length === 0)
    return (
      <Text c="dimmed" className="stored">
        There are no candidates{record.error ? `: ${record.error}` : ""}.
      </Text>
    );
  return (
    <Stack gap="sm" component="ol" p={0} m={0} style={{ listStyle: "none" }} aria-label="Candidates">
      {record.candidates.map((one, index) => (
        <One
          key={one.entity}
          candidate={one}
          pages={pages}
          index={index}
          withKey={keys}
          chosen={record.state === "ACCEPTED" && record.entity === one.entity}
          gap={gapOf(scores, index)}
          opened={index < open}
          action={action(one)}
        />
      ))}
    </Stack>
  );
}

type OneProps = {
  candidate: Candidate;
  pages: string | null;
  index: number;
  withKey?: boolean;
  chosen: boolean;
  gap: string | null;
  opened: boolean;
  action: ReactNode;
};

function One({ candidate, pages, index, withKey, chosen, gap, opened, action }: OneProps) {
  const [shown, setShown] = useState(opened);
  return (
    <li className={classes.candidate} data-chosen={chosen || undefined} data-candidate={candidate.entity}>
      <Group justify="space-between" align="flex-start" wrap="nowrap" gap="sm">
        <Stack gap={2} miw={0}>
          <Group gap={8} wrap="nowrap" align="baseline">
            {withKey && index < 9 && <Kbd aria-hidden>{index + 1}</Kbd>}
            <Text fw={600} className="stored">
              {candidate.label}
            </Text>
          </Group>
          <Text size="sm" className="stored">
            <EntityId entity={candidate.entity} pages={pages} />
            {candidate.description ? ` – ${candidate.description}` : ""}
          </Text>
        </Stack>
        <Stack gap={2} align="flex-end" style={{ flex: "none" }}>
          <Text fw={600} className="numbers">
            {score(candidate.score)}
          </Text>
          {chosen && <RecordBadge state="ACCEPTED" />}
        </Stack>
      </Group>
      <Group justify="space-between" gap="xs" mt={6}>
        <Button
          variant="subtle"
          size="compact-xs"
          aria-expanded={shown}
          leftSection={shown ? <ChevronDown size={12} aria-hidden /> : <ChevronRight size={12} aria-hidden />}
          onClick={() => setShown(!shown)}
        >
          Why {score(candidate.score)}
          {gap ? `, ${gap}` : ""}
        </Button>
        {action}
      </Group>
      {shown && <FeatureBars candidate={candidate} />}
    </li>
  );
}

/** The waterfall: every feature begins where the one before ended, and the last one ends at the score. */
export function FeatureBars({ candidate }: { candidate: Candidate }) {
  return (
    <ul className={classes.parts} aria-label={`How the score of ${candidate.label} comes about`}>
      {waterfall(candidate.parts).map((step, index) => (
        <li key={index} className={classes.part}>
          <span className="stored">{featureName(step.feature)}</span>
          <span className={classes.track} aria-hidden>
            <span
              className={classes.bar}
              data-way={points(step.points) === "0" ? "none" : step.points < 0 ? "down" : "up"}
              style={{ left: `${step.from * 100}%`, width: `${(step.to - step.from) * 100}%` }}
            />
          </span>
          <span className="numbers">{points(step.points)}</span>
          <span className={`${classes.said} stored`}>{step.said}</span>
        </li>
      ))}
    </ul>
  );
}
