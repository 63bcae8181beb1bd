import { Alert, Button, Checkbox, Group, NumberInput, Paper, SimpleGrid, Stack, Table, Text, Title } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { keepPreviousData, useMutation, useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { Check, Undo2 } from "lucide-react";
import { useEffect, useEffectEvent, useState } from "react";
import { api, ask, type Schemas } from "~/api/client";
import { tellDone } from "~/api/queries";
import { Confirm } from "~/blocks/Confirm";
import { Empty } from "~/blocks/Empty";
import { GoTo } from "~/blocks/links";
import { Loading, Trouble } from "~/blocks/Trouble";
import { count, many } from "~/blocks/wording";
import { Allowed } from "~/shell/Allowed";
import { useRefusal } from "~/shell/me";
import { undoBatch } from "./deciding";
import { Histogram } from "./Histogram";
import classes from "./linking.module.css";
import { keyOf, type LinkRecord, type Project } from "./projects";
import { nameColumn } from "./roles";
import { Swatches } from "./Standing";
import { score } from "./waterfall";

const route = getRouteApi("/linking/$projectId");
const SETTLED_MS = 250;
const EXAMPLES = 8;

export function ScoresTab({ project }: { project: Project }) {
  const { projectId } = project;
  const found = useQuery({
    queryKey: [...keyOf(projectId), "scores"],
    queryFn: ({ signal }) => ask(api.GET("/api/projects/{projectId}/scores", { params: { path: { projectId } }, signal })),
  });
  if (found.isPending) return <Loading />;
  if (found.isError) return <Trouble error={found.error} again={() => void found.refetch()} />;
  if (found.data.lookedAt === 0)
    return (
      <Empty kind="nothing" title="No scores yet">
        They appear when records have been matched.
      </Empty>
    );
  return <Threshold project={project} scores={found.data} />;
}

function Threshold({ project, scores }: { project: Project; scores: Schemas["ScoresBody"] }) {
  const { min, gap, batch } = route.useSearch();
  const navigate = route.useNavigate();
  const [minScore, setMinScore] = useState(min ?? scores.acceptScore);
  const [minGap, setMinGap] = useState(gap ?? scores.acceptGap);
  const [withAccepted, setWithAccepted] = useState(false);
  // While it is dragged, neither the address nor the service hears of every step.
  const [settled] = useDebouncedValue({ minScore, minGap }, SETTLED_MS);
  const remember = useEffectEvent(() => {
    void navigate({
      search: (was) => ({
        ...was,
        min: settled.minScore === scores.acceptScore ? undefined : settled.minScore,
        gap: settled.minGap === scores.acceptGap ? undefined : settled.minGap,
      }),
      replace: true,
    });
  });
  useEffect(() => remember(), [settled.minScore, settled.minGap]);
  return (
    <Stack gap="md">
      <Paper withBorder p="md">
        <Stack gap="xs">
          <Group justify="space-between">
            <Title order={2}>Scores of what waits for review</Title>
            <Checkbox size="xs" label="Also what is accepted" checked={withAccepted} onChange={(event) => setWithAccepted(event.currentTarget.checked)} />
          </Group>
          <Histogram steps={scores.steps} threshold={minScore} withAccepted={withAccepted} onChange={setMinScore} />
          <Swatches
            items={[
              [`${classes.swatch} ${classes.taken}`, "waits, from the threshold on"],
              [`${classes.swatch} ${classes.waiting}`, "waits, below it"],
              ...(withAccepted ? [[`${classes.swatch} ${classes.accepted}`, "accepted"] as [string, string]] : []),
            ]}
          />
          {!scores.complete && (
            <Text size="xs" c="dimmed">
              ≈ Drawn from the first {count(scores.lookedAt)} records. The numbers of the preview are exact.
            </Text>
          )}
          <Group gap="sm" align="flex-end">
            <NumberInput label="Score from" w={120} min={0} max={1} step={0.01} decimalScale={2} value={minScore} onChange={(value) => typeof value === "number" && setMinScore(value)} />
            <NumberInput label="Ahead by" w={120} min={0} max={1} step={0.01} decimalScale={2} value={minGap} onChange={(value) => typeof value === "number" && setMinGap(value)} />
            <Text size="xs" c="dimmed" maw={360}>
              By itself the project accepts from {scores.acceptScore.toFixed(2)} on, if the second is {scores.acceptGap.toFixed(2)} behind. 0 also takes ties.
            </Text>
          </Group>
        </Stack>
      </Paper>
      {batch && <Undo project={project} batch={batch} />}
      <Preview project={project} minScore={settled.minScore} minGap={settled.minGap} />
    </Stack>
  );
}

/** The dry run of the bulk accept: exact, and what lies at the threshold. */
function Preview({ project, minScore, minGap }: { project: Project; minScore: number; minGap: number }) {
  const { projectId } = project;
  const navigate = route.useNavigate();
  const refusal = useRefusal("operator", project.owner);
  const [asking, setAsking] = useState(false);
  const params = { path: { projectId } };
  const tried = useQuery({
    queryKey: [...keyOf(projectId), "tried", minScore, minGap],
    queryFn: ({ signal }) => ask(api.POST("/api/projects/{projectId}/accept", { params, body: { minScore, minGap, dryRun: true }, signal })),
    enabled: refusal === null,
    placeholderData: keepPreviousData,
  });
  const accept = useMutation({
    mutationFn: () => ask(api.POST("/api/projects/{projectId}/accept", { params, body: { minScore, minGap, dryRun: false } })),
    meta: { touches: [[...keyOf(projectId)]] },
    onSuccess: (done) => {
      tellDone(`${many(done.accepted, "record")} accepted.`);
      void navigate({ search: (was) => ({ ...was, batch: done.batch ?? undefined }), replace: true });
    },
  });
  if (refusal !== null)
    return (
      <Group>
        <Allowed role="operator" owner={project.owner}>
          <Button leftSection={<Check size={16} aria-hidden />}>Accept</Button>
        </Allowed>
      </Group>
    );
  if (tried.isPending) return <Loading rows={3} />;
  if (tried.isError) return <Trouble error={tried.error} again={() => void tried.refetch()} />;
  const { accepted, waiting, examples, below } = tried.data;
  const settled = !tried.isPlaceholderData;
  return (
    <Stack gap="sm" data-preview={settled ? accepted : "asking"}>
      <Group justify="space-between">
        <Text role="status">
          <b>{count(accepted)}</b> of {many(waiting, "waiting record")} would be accepted; {count(waiting - accepted)} would go on waiting.
        </Text>
        <Allowed role="operator" owner={project.owner} unless={accepted === 0 ? "No waiting record is that sure." : null}>
          <Button leftSection={<Check size={16} aria-hidden />} disabled={!settled} onClick={() => setAsking(true)}>
            Accept {count(accepted)}
          </Button>
        </Allowed>
      </Group>
      <SimpleGrid cols={{ base: 1, md: 2 }}>
        <Examples title="Just above: would be accepted" none="Nothing would be accepted." project={project} records={examples.slice(0, EXAMPLES)} />
        <Examples title="Just below: would go on waiting" none="Nothing would go on waiting." project={project} records={below.slice(0, EXAMPLES)} />
      </SimpleGrid>
      {asking && (
        <Confirm title={`Accept ${many(accepted, "record")}?`} verb={`Accept ${count(accepted)}`} onConfirm={() => accept.mutateAsync()} onClose={() => setAsking(false)}>
          {many(accepted, "record")} of {count(waiting)} that wait for review are accepted as their best candidate: score {minScore.toFixed(2)} or more, and {minGap.toFixed(2)} or more ahead of
          the second. It can be undone as a whole.
        </Confirm>
      )}
    </Stack>
  );
}

function Examples({ title, none, project, records }: { title: string; none: string; project: Project; records: LinkRecord[] }) {
  const name = nameColumn(project.roles);
  const params = { projectId: String(project.projectId) };
  return (
    <Paper withBorder p="sm">
      <Title order={3} mb={6}>
        {title}
      </Title>
      {records.length === 0 ? (
        <Text size="sm" c="dimmed">
          {none}
        </Text>
      ) : (
        <Table fz="sm" verticalSpacing={4} aria-label={title}>
          <Table.Tbody>
            {records.map((one) => (
              <Table.Tr key={one.number}>
                <Table.Td className="numbers">{score(one.score)}</Table.Td>
                <Table.Td className="stored">
                  <GoTo inherit underline="always" from="/linking/$projectId" to="/linking/$projectId" params={params} search={(was) => ({ ...was, record: one.number })}>
                    {(name && one.cells[name]) || `Row ${one.number}`}
                  </GoTo>{" "}
                  → {one.label} ({one.entity})
                </Table.Td>
                <Table.Td className="numbers" c="dimmed">
                  +{score(one.gap)}
                </Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      )}
    </Paper>
  );
}

function Undo({ project, batch }: { project: Project; batch: string }) {
  const navigate = route.useNavigate();
  const forget = () => void navigate({ search: (was) => ({ ...was, batch: undefined }), replace: true });
  const undo = useMutation({
    mutationFn: () => undoBatch(project.projectId, batch),
    meta: { touches: [[...keyOf(project.projectId)]] },
    onSuccess: (done) => {
      const left = done.changedSince > 0 ? ` ${many(done.changedSince, "record")} that somebody changed since stay as they are.` : "";
      tellDone(`${many(done.undone, "decision")} undone.${left}`);
      forget();
    },
  });
  return (
    <Alert color="green" icon={<Check aria-hidden />} title="Accepted as one batch" withCloseButton closeButtonLabel="Close" onClose={forget}>
      <Group gap="sm">
        <Text size="sm">It can be undone as a whole, as far as nobody changes it.</Text>
        <Allowed role="operator" owner={project.owner}>
          <Button size="xs" variant="default" loading={undo.isPending} leftSection={<Undo2 size={14} aria-hidden />} onClick={() => undo.mutate()}>
            Undo the batch
          </Button>
        </Allowed>
      </Group>
    </Alert>
  );
}
