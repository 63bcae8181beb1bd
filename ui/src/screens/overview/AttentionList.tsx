import { Anchor, Group, Paper, Stack, Text, Title } from "@mantine/core";
import { CircleCheck, TriangleAlert } from "lucide-react";
import { useState } from "react";
import { GoToButton } from "~/blocks/links";
import { useMe } from "~/shell/me";
import { byUrgency, stepOf, type Attention, type Step as NextStep } from "./attention";

const FIRST = 5;

export function AttentionList({ attention }: { attention: Attention[] }) {
  const [all, setAll] = useState(false);
  if (attention.length === 0)
    return (
      <Group gap="xs" data-attention="none">
        <CircleCheck size={16} aria-hidden color="var(--mantine-color-green-7)" />
        <Text size="sm">Nothing needs attention.</Text>
      </Group>
    );
  const sorted = byUrgency(attention);
  const shown = all ? sorted : sorted.slice(0, FIRST);
  return (
    <Stack gap="xs" component="section" aria-label="Needs attention">
      <Title order={2}>Needs attention</Title>
      {shown.map((one) => (
        <Row key={one.sentence} found={one} />
      ))}
      {sorted.length > FIRST && (
        <Anchor component="button" type="button" size="sm" ta="left" onClick={() => setAll(!all)}>
          {all ? "Show fewer" : `Show ${sorted.length - FIRST} more`}
        </Anchor>
      )}
    </Stack>
  );
}

function Row({ found }: { found: Attention }) {
  const step = stepOf(found, useMe().role === "admin");
  return (
    <Paper withBorder px="sm" py={6} data-attention={found.about}>
      <Group justify="space-between" gap="xs">
        <Group gap="xs" wrap="nowrap" miw={0} flex="1 1 220px" align="flex-start">
          <TriangleAlert size={16} aria-hidden color="var(--mantine-color-orange-7)" style={{ flex: "none", marginTop: 2 }} />
          <Text size="sm" className="stored">
            {found.sentence}
          </Text>
        </Group>
        {step && <Step {...step} />}
      </Group>
    </Paper>
  );
}

function Step({ name, ...there }: NextStep) {
  return (
    <GoToButton {...there} size="xs" variant="default">
      {name}
    </GoToButton>
  );
}
