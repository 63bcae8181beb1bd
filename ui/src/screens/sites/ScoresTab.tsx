import { Card, List, SimpleGrid, Stack, Table, Text, Title } from "@mantine/core";
import type { ReactNode } from "react";
import type { Schemas } from "~/api/client";
import { Empty } from "~/blocks/Empty";
import { Wide } from "~/blocks/Wide";
import { count, many, percent, sentence } from "~/blocks/wording";
import { cost } from "./estimate";
import { notYet, type Detail } from "./Site";
import classes from "./sites.module.css";

type Share = Schemas["Share"];

/** The figures, and how each comes about. */
export function ScoresTab({ site }: { site: Detail }) {
  const { scores } = site;
  if (!scores)
    return (
      <Empty kind="nothing" title="No scores yet">
        {notYet(site, "Scores")}
      </Empty>
    );
  const covered = scores.prompts.filter((one) => one.covered).length;
  const named = scores.visibility.value === null ? 0 : Math.round(scores.visibility.value * scores.visibility.count);
  return (
    <Stack gap="lg">
      <SimpleGrid cols={{ base: 1, sm: 2 }}>
        <Figure title="Coverage" share={scores.coverage}>
          {count(covered)} of {many(scores.prompts.length, "prompt")} have a sentence on the pages that comes near enough in meaning to an answer. Near in
          meaning is not the same as a good answer: read them under Answers.
        </Figure>
        <Figure title="Visibility" share={scores.visibility}>
          {scores.visibility.count === 0
            ? "No answer counts yet. Only prompts without the name of the business count, and the offline model never does, since it knows nothing but the site."
            : `${count(named)} of ${many(scores.visibility.count, "answer")} name the business. Prompts that hold its name do not count.`}
        </Figure>
      </SimpleGrid>
      <Text size="sm" c="dimmed">
        The pale bar holds the true share nineteen times of twenty. A difference that is smaller than it means nothing.
      </Text>
      {scores.improvements.length > 0 && (
        <section aria-label="What to improve">
          <Title order={2} size="h3" mb={6}>
            What to improve
          </Title>
          <List size="sm">
            {scores.improvements.map((one, index) => (
              <List.Item key={index} className="stored">
                {one}
              </List.Item>
            ))}
          </List>
        </section>
      )}
      <SimpleGrid cols={{ base: 1, md: 2 }}>
        <Breakdown title="Coverage by kind of prompt" shares={scores.byKind} name={sentence} />
        <Breakdown title="Visibility by model" shares={scores.byModel} />
      </SimpleGrid>
      <Breakdown title="Coverage by fact" shares={scores.byTopic} />
      <Text size="sm">
        {many(scores.unsupported, "claim")} about the business without support on its pages. Cost {cost(scores.cost)}, {count(scores.tokensIn)} tokens in,{" "}
        {count(scores.tokensOut)} out.
      </Text>
    </Stack>
  );
}

function Figure({ title, share, children }: { title: string; share: Share; children: ReactNode }) {
  return (
    <Card withBorder>
      <Stack gap={6}>
        <Text fw={600}>{title}</Text>
        <Text size="xl" fw={650} className="numbers">
          {share.value === null ? "–" : percent(share.value)}
        </Text>
        <Bar share={share} label={title} />
        <Text size="sm" c="dimmed">
          {children}
        </Text>
      </Stack>
    </Card>
  );
}

function Bar({ share, label }: { share: Share; label: string }) {
  const { value, low, high } = share;
  if (value === null) return null;
  const from = (low ?? value) * 100;
  const to = (high ?? value) * 100;
  return (
    <div className={classes.bar} role="img" aria-label={`${label}: ${percent(value)}, between ${percent(from / 100)} and ${percent(to / 100)}`}>
      <span className={classes.interval} style={{ left: `${from}%`, width: `${Math.max(1, to - from)}%` }} />
      <span className={classes.value} style={{ left: `${value * 100}%` }} />
    </div>
  );
}

function Breakdown({ title, shares, name = (text) => text }: { title: string; shares: Record<string, Share>; name?: (text: string) => string }) {
  const rows = Object.entries(shares);
  if (rows.length === 0) return null;
  return (
    <section aria-label={title}>
      <Title order={2} size="h3" mb={6}>
        {title}
      </Title>
      <Wide minWidth={320}>
        <Table fz="sm" verticalSpacing={6} aria-label={title}>
          <Table.Tbody>
            {rows.map(([key, share]) => (
              <Table.Tr key={key}>
                <Table.Th scope="row" className="stored" fw={400} w="40%">
                  {name(key)}
                </Table.Th>
                <Table.Td w="35%">
                  <Bar share={share} label={key} />
                </Table.Td>
                <Table.Td className="numbers" ta="right">
                  {share.value === null ? "–" : percent(share.value)}
                  <Text span size="xs" c="dimmed">
                    {" "}
                    of {count(share.count)}
                  </Text>
                </Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      </Wide>
    </section>
  );
}
