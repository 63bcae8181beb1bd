import { Card, Stack, Switch, Text } from "@mantine/core";
import type { Schemas } from "~/api/client";
import { tellDone } from "~/api/queries";
import { Loading, Trouble } from "~/blocks/Trouble";
import { When } from "~/blocks/When";
import { useChangeSettings, useSettings } from "./useSettings";

type Feature = Schemas["FeatureView"];

const TITLES: Record<string, string> = { pendingPage: "Pending" };

/** What is on for everybody. */
export function Features() {
  const found = useSettings();
  if (found.isPending) return <Loading />;
  if (found.isError) return <Trouble error={found.error} again={() => void found.refetch()} />;
  return (
    <Stack>
      <Text c="dimmed" size="sm">
        A feature that is off disappears from the navigation of everybody, and its address says so.
      </Text>
      {(found.data.features ?? []).map((feature) => (
        <One key={feature.name} feature={feature} />
      ))}
    </Stack>
  );
}

function One({ feature }: { feature: Feature }) {
  const title = TITLES[feature.name] ?? feature.name;
  const change = useChangeSettings(() => tellDone(`${title} is ${feature.on ? "off" : "on"}.`));
  return (
    <Card withBorder>
      <Switch
        label={title}
        description={feature.about}
        checked={feature.on}
        disabled={change.isPending}
        onChange={(event) => change.mutate({ flags: { [feature.name]: event.currentTarget.checked } })}
      />
      {feature.changedBy !== null && (
        <Text size="xs" c="dimmed" mt="xs" component="div">
          Changed by {feature.changedBy}, <When at={feature.changedAt} />. The environment says {feature.default ? "on" : "off"}.
        </Text>
      )}
    </Card>
  );
}
