import { Alert, Badge, Button, Group, Stack, Table, Text, Textarea, TextInput, Title } from "@mantine/core";
import { useMutation, useQuery } from "@tanstack/react-query";
import { Eye, RotateCcw } from "lucide-react";
import { useState } from "react";
import { api, ask } from "~/api/client";
import { tellDone } from "~/api/queries";
import { Confirm } from "~/blocks/Confirm";
import { Drawer } from "~/blocks/Drawer";
import { Facts } from "~/blocks/Facts";
import { GoToButton } from "~/blocks/links";
import { Loading, Trouble } from "~/blocks/Trouble";
import { When } from "~/blocks/When";
import { sentence } from "~/blocks/wording";
import { Allowed } from "~/shell/Allowed";
import { useMe } from "~/shell/me";
import { Candidates, Cell, EntityId } from "./Candidates";
import { accept, conflict, reject, reopen, setNote, undoBatch, undoOwn } from "./deciding";
import { Decision } from "./Decision";
import { keyOf, recordKey, recordQuery, usePages, type Project, type RecordDetail } from "./projects";
import { RecordBadge, recordWord } from "./Standing";
import { score } from "./waterfall";

export function RecordDrawer({ project, number, onClose }: { project: Project; number: number; onClose: () => void }) {
  const found = useQuery(recordQuery(project.projectId, number));
  const params = { projectId: String(project.projectId) };
  return (
    <Drawer
      title={`Record ${number}`}
      onClose={onClose}
      actions={
        <GoToButton size="xs" variant="default" to="/linking/$projectId/review" params={params} search={{ record: number }} leftSection={<Eye size={14} aria-hidden />}>
          Review
        </GoToButton>
      }
    >
      {found.isPending ? <Loading /> : found.isError ? <Trouble error={found.error} /> : <Known project={project} record={found.data} />}
    </Drawer>
  );
}

const UNDER_WAY = ["QUEUED", "MATCHING"];

function Known({ project, record }: { project: Project; record: RecordDetail }) {
  const { projectId } = project;
  const pages = usePages(project.source);
  const decide = useMutation({
    mutationFn: (act: () => Promise<unknown>) => act(),
    meta: { ownProblem: true, touches: [[...keyOf(projectId)]] },
  });
  const overtaken = conflict(decide.error);
  const busy = UNDER_WAY.includes(record.state) ? "It is being matched." : null;
  return (
    <Stack gap="md">
      <Group gap="xs">
        <RecordBadge state={record.state} />
        {record.byHand && <Badge variant="outline" tt="none">Id by hand</Badge>}
      </Group>
      <Facts rows={project.columns.map((column) => [column, record.cells[column] ? <Cell key={column} text={record.cells[column]} /> : null])} />
      <Facts
        rows={[
          ["Match", record.entity && <EntityId entity={record.entity} pages={pages} />],
          ["Score", record.score === null ? null : `${score(record.score)}, ${score(record.gap)} ahead of the next`],
          ["Decision", record.decidedAt && <Decision record={record} />],
          ["Reason", record.error],
          ["Asked for", record.query && `${record.query} (${record.language ?? "any language"})`],
        ]}
      />
      {decide.error && (
        <Alert color="orange" title={overtaken ? "Somebody was quicker" : "That did not work"} role="alert">
          <span className="stored">{decide.error.message}</span>
        </Alert>
      )}
      <Group gap="xs">
        <Allowed role="operator" owner={project.owner} unless={busy}>
          <Button size="xs" variant="default" onClick={() => decide.mutate(() => reject(projectId, record))}>
            None of these
          </Button>
        </Allowed>
        <Allowed role="operator" owner={project.owner} unless={busy ?? (record.decidedAt === null ? "Nothing was decided about it." : null)}>
          <Button size="xs" variant="default" leftSection={<RotateCcw size={14} aria-hidden />} onClick={() => decide.mutate(() => reopen(projectId, record))}>
            Decide again
          </Button>
        </Allowed>
      </Group>
      <Title order={3}>Candidates</Title>
      <Candidates
        record={record}
        pages={pages}
        open={1}
        action={(candidate) => (
          <Allowed role="operator" owner={project.owner} unless={busy}>
            <Button size="compact-sm" variant="default" aria-label={`Accept ${candidate.label} (${candidate.entity})`} onClick={() => decide.mutate(() => accept(projectId, record, candidate.entity))}>
              Accept
            </Button>
          </Allowed>
        )}
      />
      <ByHand project={project} busy={busy} onGive={(entity) => decide.mutate(() => accept(projectId, record, entity))} />
      <Note project={project} record={record} />
      <History project={project} record={record} />
    </Stack>
  );
}

function ByHand({ project, busy, onGive }: { project: Project; busy: string | null; onGive: (entity: string) => void }) {
  const [entity, setEntity] = useState("");
  return (
    <Group align="flex-end" gap="xs">
      <TextInput label="Another id, by hand" placeholder="Such as Q42" maxLength={200} value={entity} onChange={(event) => setEntity(event.currentTarget.value)} flex={1} />
      <Allowed role="operator" owner={project.owner} unless={busy ?? (entity.trim() === "" ? "Type an id first." : null)}>
        <Button variant="default" onClick={() => onGive(entity.trim())}>
          Accept this id
        </Button>
      </Allowed>
    </Group>
  );
}

function Note({ project, record }: { project: Project; record: RecordDetail }) {
  const [text, setText] = useState(record.note ?? "");
  const save = useMutation({
    mutationFn: () => setNote(project.projectId, record.number, text),
    meta: { touches: [[...keyOf(project.projectId)]] },
    onSuccess: () => tellDone("The note was stored."),
  });
  return (
    <Stack gap="xs">
      <Textarea label="Note" description="Goes into exports." autosize minRows={2} maxLength={2000} value={text} onChange={(event) => setText(event.currentTarget.value)} />
      <Group>
        <Allowed role="operator" owner={project.owner} unless={text === (record.note ?? "") ? "It is as it was." : null}>
          <Button size="xs" variant="default" loading={save.isPending} onClick={() => save.mutate()}>
            Store the note
          </Button>
        </Allowed>
      </Group>
    </Stack>
  );
}

function History({ project, record }: { project: Project; record: RecordDetail }) {
  const { projectId } = project;
  const found = useQuery({
    queryKey: [...recordKey(projectId, record.number), "history"],
    queryFn: ({ signal }) => ask(api.GET("/api/projects/{projectId}/records/{number}/history", { params: { path: { projectId, number: record.number } }, signal })),
  });
  const me = useMe();
  const [asking, setAsking] = useState(false);
  const undo = useMutation({
    mutationFn: (batch: string | null) => (batch === null ? undoOwn(projectId, record.number) : undoBatch(projectId, batch)),
    meta: { touches: [[...keyOf(projectId)]] },
    onSuccess: (done) => tellDone(done.undone === 1 ? "The decision was undone." : `${done.undone} decisions were undone.`),
  });
  if (!found.data || found.data.items.length === 0) return null;
  const latest = found.data.items.find((one) => one.undoneAt === null && one.move !== "undo");
  return (
    <Stack gap="xs">
      <Title order={3}>Decisions</Title>
      <Table.ScrollContainer minWidth={300} type="native">
        <Table fz="sm" aria-label="Decisions">
          <Table.Tbody>
            {found.data.items.map((one) => (
              <Table.Tr key={one.decisionId}>
                <Table.Td>
                  <Text size="sm" className="stored">
                    {sentence(one.move)} by {one.by}: {recordWord(one.fromState)} to {recordWord(one.toState)} {one.toEntity}
                    {one.undoneAt ? " (undone)" : ""}
                  </Text>
                  <Text size="xs" c="dimmed">
                    <When at={one.at} />
                  </Text>
                </Table.Td>
                <Table.Td>
                  {one === latest && (
                    <Allowed role="operator" owner={project.owner}>
                      <Button size="compact-xs" variant="default" loading={undo.isPending} onClick={() => (one.by === me.name ? undo.mutate(null) : setAsking(true))}>
                        Undo
                      </Button>
                    </Allowed>
                  )}
                </Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      </Table.ScrollContainer>
      {asking && latest && (
        <Confirm title={`Undo what ${latest.by} decided?`} verb="Undo the batch" onConfirm={() => undo.mutateAsync(latest.batch)} onClose={() => setAsking(false)}>
          Everything that {latest.by} decided with the same click is undone, as far as nobody changed it since. That may be more than this record.
        </Confirm>
      )}
    </Stack>
  );
}
