import { Alert, Button, Checkbox, Group, Modal, Radio, Select, SimpleGrid, Stack, Text, TextInput } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { keepPreviousData, useMutation, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { api, ask, type Schemas } from "~/api/client";
import { tellDone } from "~/api/queries";
import { Trouble } from "~/blocks/Trouble";
import { count, duration, many } from "~/blocks/wording";
import { dayEnd, dayStart } from "./days";

type Scope = Schemas["ReindexBody"]["scope"];

const SCOPES: [Scope, string][] = [
  ["outdated", "Missing or stale"],
  ["missing", "Missing"],
  ["stale", "Stale"],
  ["failed", "Failed"],
  ["all", "All articles"],
];

/** Embeds articles again, as a job. Its numbers come from a dry run of exactly what is chosen. */
export function ReindexDialog({ generations, onClose }: { generations: Schemas["Generation"][]; onClose: () => void }) {
  const kept = generations.filter((one) => one.state !== "dropped");
  const [scope, setScope] = useState<Scope>("outdated");
  const [generation, setGeneration] = useState(String(kept.find((one) => one.state === "active")?.id ?? ""));
  const [author, setAuthor] = useState("");
  const [since, setSince] = useState("");
  const [until, setUntil] = useState("");
  const [force, setForce] = useState(false);

  const wanted = {
    scope,
    generation: generation === "" ? null : Number(generation),
    author: author.trim() || null,
    since: dayStart(since) ?? null,
    until: dayEnd(until) ?? null,
    force,
  };
  const [settled] = useDebouncedValue(JSON.stringify(wanted), 250);
  const dry = useQuery({
    queryKey: ["object", "article", "reindex", settled],
    queryFn: ({ signal }) =>
      ask(api.POST("/api/article-index/reindex", { body: { ...(JSON.parse(settled) as typeof wanted), dryRun: true }, signal })),
    placeholderData: keepPreviousData,
    retry: false,
  });
  const start = useMutation({
    mutationFn: () => ask(api.POST("/api/article-index/reindex", { body: { ...wanted, dryRun: false } })),
    meta: { ownProblem: true, touches: [["object", "article"], ["jobs"]] },
    onSuccess: (made) => {
      tellDone(made.jobId === null ? "Nothing had to be done." : `Job ${made.jobId} embeds ${many(made.articles, "article")}.`);
      onClose();
    },
  });
  const current = settled === JSON.stringify(wanted) && dry.isSuccess && !dry.isPlaceholderData;
  const articles = dry.data?.articles ?? 0;
  return (
    <Modal opened onClose={onClose} title="Re-index" size="lg" closeButtonProps={{ "aria-label": "Close" }}>
      <Stack>
        <Radio.Group label="Which articles" value={scope} onChange={(value) => setScope(SCOPES.find(([name]) => name === value)?.[0] ?? "outdated")}>
          <Group mt={6} gap="md">
            {SCOPES.map(([name, label]) => (
              <Radio key={name} value={name} label={label} />
            ))}
          </Group>
        </Radio.Group>
        <SimpleGrid cols={{ base: 1, sm: 2 }}>
          <Select
            label="Generation"
            data={kept.map((one) => ({ value: String(one.id), label: `${one.name} (${one.state})` }))}
            value={generation}
            allowDeselect={false}
            onChange={(value) => setGeneration(value ?? "")}
          />
          <TextInput label="Author" placeholder="Everybody" value={author} onChange={(event) => setAuthor(event.currentTarget.value)} />
          <TextInput label="Changed from" type="date" value={since} onChange={(event) => setSince(event.currentTarget.value)} />
          <TextInput label="to" type="date" value={until} onChange={(event) => setUntil(event.currentTarget.value)} />
        </SimpleGrid>
        <Checkbox
          label="Embed also what has not changed"
          description="Else a text whose vectors are there is left as it is."
          checked={force}
          onChange={(event) => setForce(event.currentTarget.checked)}
        />
        {dry.isError ? (
          <Trouble error={dry.error} />
        ) : (
          <Alert color="gray" p="sm" aria-live="polite" data-dry-run={current}>
            {dry.data === undefined ? (
              "Counting …"
            ) : (
              <Text size="sm" className="numbers" c={current ? undefined : "dimmed"}>
                {articles === 0
                  ? "No article has to be embedded."
                  : `${many(articles, "article")}, ${count(dry.data.chunksEstimated, true)} passages${dry.data.secondsEstimated === null ? "" : `, ≈ ${duration(dry.data.secondsEstimated)}`}.`}
                {articles > 0 && " New saves go first, and searches go on."}
              </Text>
            )}
          </Alert>
        )}
        {start.isError && <Trouble error={start.error} />}
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose}>
            Leave it
          </Button>
          <Button disabled={!current || articles === 0} loading={start.isPending} onClick={() => start.mutate()}>
            {articles > 0 ? `Re-index ${many(articles, "article")}` : "Re-index"}
          </Button>
        </Group>
      </Stack>
    </Modal>
  );
}
