import { Code, Group, Paper, Space, Stack, Text, Title } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { api, ask, type Schemas } from "~/api/client";
import { Facts } from "~/blocks/Facts";
import { GoTo } from "~/blocks/links";
import { StateBadge } from "~/blocks/StateBadge";
import { Loading, Trouble } from "~/blocks/Trouble";
import { When } from "~/blocks/When";
import { count, duration, many, milliseconds, percent, rate } from "~/blocks/wording";

type Provider = Schemas["ProviderBody"];

/** Who is asked, in the usual order. It is set in the settings of the server, and for one list when it is uploaded. */
export function Providers() {
  const found = useQuery({ queryKey: ["stages", "providers"], queryFn: ({ signal }) => ask(api.GET("/api/catalogues/providers", { signal })) });
  if (found.isPending) return <Loading />;
  if (found.isError) return <Trouble error={found.error} again={() => void found.refetch()} />;
  return (
    <Stack gap="md">
      <Text size="sm" c="dimmed" maw={720}>
        They are asked in this order until one knows the product; each further attempt begins with the next one. Another order is chosen when a list is uploaded, and
        holds for all of its rows.
      </Text>
      {found.data.items.map((provider, at) => (
        <One key={provider.name} provider={provider} place={at + 1} />
      ))}
    </Stack>
  );
}

function One({ provider, place }: { provider: Provider; place: number }) {
  const { limit, lately } = provider;
  return (
    <Paper withBorder p="md" component="section" aria-label={provider.name} maw={820}>
      <Group justify="space-between" mb={4}>
        <Title order={2} size="h3">
          {place}. {provider.name}
        </Title>
        {provider.ready ? (
          limit !== null && limit.blockedSeconds > 0 ? (
            <StateBadge state="PAUSED" word={`Waits ${duration(limit.blockedSeconds)}`} />
          ) : (
            <StateBadge state="DONE" word="Ready" />
          )
        ) : (
          <StateBadge state="SKIPPED" word="Not set up" />
        )}
      </Group>
      <Text size="sm">{provider.about}</Text>
      {provider.problem && (
        <Text size="sm" c={provider.address ? "red" : "dimmed"} className="stored">
          {provider.problem}
        </Text>
      )}
      <Space h="xs" />
      <Facts
        rows={[
          ["Address", provider.address],
          ["Products here", provider.productsEstimate === null ? null : count(provider.productsEstimate, true)],
          ["Asked with", provider.asksFor.join(", ")],
          ["Keys", keys(provider)],
          ["Limit", limits(provider)],
          ["Waits because", limit?.blockedReason],
          ["Circuit", provider.circuitFailures === null ? null : `after ${many(provider.circuitFailures, "failure")} in a row nobody asks for ${duration(provider.circuitSeconds)}`],
          ["Costs", provider.cost > 0 ? `${provider.cost} per question` : null],
          ["Lately", lately ? <Lately key="lately" answers={lately} /> : "not asked"],
          ["Last failure", lately?.lastError],
          ["Set with", <Settings key="settings" names={provider.settings} />],
        ]}
      />
      {limit !== null && (
        <GoTo to="/limits" size="sm">
          Change its limit
        </GoTo>
      )}
    </Paper>
  );
}

function keys(provider: Provider): string | null {
  if (provider.keys.length === 0) return null;
  return provider.keys.map((key) => `${key.variable} for ${key.header}: ${key.present ? "present" : "missing"}`).join("; ");
}

function limits(provider: Provider): string | null {
  if (provider.perSecond === null) return null;
  const now = provider.limit?.available === null || provider.limit === null ? "" : `; ${count(provider.limit.available)} may be asked now`;
  return `${rate(provider.limit?.perSecond ?? provider.perSecond)} in the whole fleet, ${provider.concurrency ?? 1} at once in each runner${now}`;
}

function Lately({ answers }: { answers: Schemas["ProviderAnswers"] }) {
  const parts = [
    many(answers.asked, "question"),
    `${percent(answers.asked === 0 ? 0 : answers.hits / answers.asked)} known`,
    answers.unanswered > 0 && `${count(answers.unanswered)} without an answer`,
    `${milliseconds(answers.milliseconds)} on average`,
  ].filter(Boolean);
  return (
    <>
      {parts.join(", ")}, the last one <When at={answers.lastAt} />
    </>
  );
}

function Settings({ names }: { names: string[] }) {
  return (
    <Group gap={4}>
      {names.map((name) => (
        <Code key={name}>{name}</Code>
      ))}
    </Group>
  );
}
