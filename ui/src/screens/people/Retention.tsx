import { Alert, Button, Card, Group, NumberInput, Stack, Text, Title } from "@mantine/core";
import { TriangleAlert } from "lucide-react";
import { useState } from "react";
import type { Schemas } from "~/api/client";
import { tellDone } from "~/api/queries";
import { Confirm } from "~/blocks/Confirm";
import { Loading, Trouble } from "~/blocks/Trouble";
import { When } from "~/blocks/When";
import { many } from "~/blocks/wording";
import { useChangeSettings, useSettings } from "./useSettings";

type Kept = Schemas["KeptView"];

const ENDED = "endedItemsDays";
const DEAD = "deadLettersDays";
const TITLES: Record<string, string> = { [ENDED]: "Ended items and jobs", [DEAD]: "Dead letters", auditDays: "Audit log" };

/** How long things are kept. What is older is removed within a minute, so a shorter time asks first. */
export function Retention() {
  const found = useSettings();
  if (found.isPending) return <Loading />;
  if (found.isError) return <Trouble error={found.error} again={() => void found.refetch()} />;
  const kinds = found.data.retention ?? [];
  const dead = kinds.find((kept) => kept.name === DEAD);
  return (
    <Stack>
      <Text c="dimmed" size="sm" maw={640}>
        What waits or runs is never removed. Workers follow a change within a minute. The environment says what counts until somebody changes it here.
      </Text>
      {kinds.map((kept) => (
        <One key={`${kept.name} ${kept.days}`} kept={kept} dead={kept.name === ENDED ? dead : undefined} />
      ))}
    </Stack>
  );
}

/** `dead`: how long failed items are kept, where that may follow this one. */
function One({ kept, dead }: { kept: Kept; dead?: Kept }) {
  const [days, setDays] = useState<number | "">(kept.days ?? "");
  const [asking, setAsking] = useState<{ days: number | null } | null>(null);
  const title = TITLES[kept.name] ?? kept.name;
  const change = useChangeSettings(() => tellDone(`${title}: changed.`));
  const save = (wanted: number | null) => change.mutateAsync({ retention: { [kept.name]: wanted } });
  const whole = days === "" ? null : days;
  const valid = whole !== null && whole >= kept.leastDays && whole <= kept.mostDays;

  /** Less than now removes something for good; more only waits longer. */
  function ask(wanted: number | null): void {
    const next = wanted ?? kept.defaultDays;
    if (next !== null && (kept.days === null || next < kept.days)) setAsking({ days: wanted });
    else void save(wanted).catch(() => undefined);
  }

  const asked = asking === null ? null : (asking.days ?? kept.defaultDays);
  return (
    <Card withBorder component="section" aria-labelledby={kept.name}>
      <Title order={2} size="h3" id={kept.name}>
        {title}
      </Title>
      <Text size="sm" mb="sm">
        {kept.about}
      </Text>
      {kept.ignored && (
        <Alert color="orange" icon={<TriangleAlert aria-hidden />} mb="sm" className="stored">
          {kept.ignored} Save a number to replace it.
        </Alert>
      )}
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (valid) ask(whole);
        }}
      >
        <Group align="flex-end" gap="sm">
          <NumberInput
            label="Days"
            aria-label={`${title}: days`}
            w={140}
            min={kept.leastDays}
            max={kept.mostDays}
            clampBehavior="none"
            decimalScale={2}
            placeholder={kept.days === null ? "forever" : undefined}
            value={days}
            onChange={(value) => setDays(typeof value === "number" ? value : value.trim() === "" || Number.isNaN(Number(value)) ? "" : Number(value))}
            error={whole !== null && !valid ? `From ${kept.leastDays} to ${kept.mostDays}.` : undefined}
          />
          <Button type="submit" disabled={!valid || (whole === kept.days && kept.ignored === null)} loading={change.isPending}>
            Save
          </Button>
          {kept.changedBy !== null && (
            <Button variant="default" onClick={() => ask(null)}>
              Back to {kept.defaultDays === null ? "forever" : many(kept.defaultDays, "day")}
            </Button>
          )}
        </Group>
      </form>
      <Text size="xs" c="dimmed" mt="xs" component="div">
        {kept.changedBy === null ? (
          `${kept.name === DEAD ? "Follows ended items" : "As the environment says"}: ${kept.days === null ? "kept forever" : many(kept.days, "day")}.`
        ) : (
          <>
            Changed by {kept.changedBy}, <When at={kept.changedAt} />. Otherwise {kept.defaultDays === null ? "forever" : many(kept.defaultDays, "day")}.
          </>
        )}
      </Text>
      {asking !== null && asked !== null && (
        <Confirm title={`${title}: keep ${many(asked, "day")}?`} verb={`Keep ${many(asked, "day")}`} danger onConfirm={() => save(asking.days)} onClose={() => setAsking(null)}>
          Everything of it that is older than {many(asked, "day")} is removed, beginning within a minute. That cannot be taken back. Now it is kept{" "}
          {kept.days === null ? "forever" : many(kept.days, "day")}.
          {dead && (
            <Text size="sm" mt="xs">
              Failed items follow, unless they have a number of their own under {TITLES[DEAD]}:{" "}
              {dead.changedBy === null ? "they have none, so they are removed, too." : `they have one, so they are kept ${dead.days === null ? "forever" : many(dead.days, "day")}.`}
            </Text>
          )}
        </Confirm>
      )}
    </Card>
  );
}
