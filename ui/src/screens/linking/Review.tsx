import { Alert, Button, Group, Kbd, Modal, Paper, Stack, Text, Textarea, Title, VisuallyHidden } from "@mantine/core";
import { getRouteApi } from "@tanstack/react-router";
import { ArrowLeft, ArrowRight, CircleX, Keyboard, SkipForward, StickyNote, TriangleAlert, Undo2 } from "lucide-react";
import { useMemo, useState } from "react";
import { Empty } from "~/blocks/Empty";
import { Facts } from "~/blocks/Facts";
import { GoTo, GoToButton } from "~/blocks/links";
import { Page } from "~/blocks/Page";
import { Loading, Trouble } from "~/blocks/Trouble";
import { count, many } from "~/blocks/wording";
import { Allowed } from "~/shell/Allowed";
import { useKeys, type Key } from "~/shell/keys";
import { useRefusal } from "~/shell/me";
import { Candidates, Cell } from "./Candidates";
import { Decision } from "./Decision";
import classes from "./linking.module.css";
import { useFollowed, usePages, useProject, type Project, type RecordDetail } from "./projects";
import { roleName } from "./roles";
import { RecordBadge } from "./Standing";
import { useReview, type Reviewing } from "./useReview";

const route = getRouteApi("/linking/$projectId/review");
const MOST_KEYS = 9;

export function Review() {
  const projectId = Number(route.useParams().projectId);
  const found = useProject(projectId);
  useFollowed(projectId, [found.data?.jobId]);
  if (found.isPending || found.isError)
    return <Page title="Review">{found.isError ? <Trouble error={found.error} again={() => void found.refetch()} /> : <Loading />}</Page>;
  return <Session key={projectId} project={found.data} />;
}

function Session({ project }: { project: Project }) {
  const { record: first } = route.useSearch();
  const navigate = route.useNavigate();
  const refusal = useRefusal("operator", project.owner);
  const review = useReview(project.projectId, first, (record) => void navigate({ search: record === null ? {} : { record }, replace: true }));
  const [noting, setNoting] = useState(false);
  useReviewKeys(review, refusal === null, () => setNoting(true));
  const { session, record, troubles } = review;
  const left = project.progress.counts.REVIEW ?? 0;
  const params = { projectId: String(project.projectId) };
  return (
    <Page
      title={`Review ${project.name}`}
      about={
        <span>
          <GoTo underline="always" to="/linking/$projectId" params={params}>
            Back to the project
          </GoTo>{" "}
          · <span role="status">{many(session.deeds.length, "decision")} in this session, {count(session.skipped.length)} skipped, {many(left, "record")} waiting</span>
        </span>
      }
    >
      {troubles.map((one) => (
        <Alert
          key={one.number}
          color="orange"
          role="alert"
          icon={<TriangleAlert aria-hidden />}
          title={`Record ${one.number} was not decided`}
          withCloseButton
          closeButtonLabel="Close"
          onClose={() => review.dismiss(one.number)}
        >
          <Stack gap="xs" align="flex-start">
            {one.current ? (
              <span className="stored">
                Somebody was quicker. It is now: <Decision record={one.current} />
                {one.current.decidedAt === null && <RecordBadge state={one.current.state} />}
              </span>
            ) : (
              <span className="stored">{one.message}</span>
            )}
            <Button size="xs" variant="default" onClick={() => review.goTo(one.number)}>
              Look at record {one.number}
            </Button>
          </Stack>
        </Alert>
      ))}
      {record ? (
        <Shown key={record.number} project={project} review={review} record={record} />
      ) : review.error !== null ? (
        <Trouble error={review.error} again={review.again} />
      ) : review.ended ? (
        <End project={project} review={review} />
      ) : (
        <Loading />
      )}
      <Keys project={project} review={review} onNote={() => setNoting(true)} />
      {noting && record && <Noting review={review} record={record} onClose={() => setNoting(false)} />}
    </Page>
  );
}

function Shown({ project, review, record }: { project: Project; review: Reviewing; record: RecordDetail }) {
  const pages = usePages(project.source);
  const busy = record.state === "QUEUED" || record.state === "MATCHING" ? "It is being matched." : null;
  return (
    <div className={classes.review} data-record={record.number}>
      <Paper withBorder p="md" className={classes.record} component="section" aria-label={`Record ${record.number}`}>
        <Stack gap="sm">
          <Group justify="space-between">
            <Title order={2}>Record {record.number}</Title>
            <RecordBadge state={record.state} />
          </Group>
          <Decision record={record} />
          <Facts
            rows={project.columns.map((column) => [
              project.roles[column] && project.roles[column].role !== "name" ? `${column} · ${roleName(project.roles[column])}` : column,
              record.cells[column] ? <Cell key={column} text={record.cells[column]} /> : "–",
            ])}
          />
          {record.note && (
            <Text size="sm" className="stored">
              <StickyNote size={14} aria-hidden /> {record.note}
            </Text>
          )}
        </Stack>
      </Paper>
      <Stack gap="sm" component="section" aria-label="What it could be" miw={0}>
        <Title order={2}>What it could be</Title>
        <Candidates
          record={record}
          pages={pages}
          keys
          action={(candidate) => (
            <Allowed role="operator" owner={project.owner} unless={busy}>
              <Button size="sm" variant="default" aria-label={`Accept ${candidate.label} (${candidate.entity})`} onClick={() => review.accept(candidate)}>
                Accept
              </Button>
            </Allowed>
          )}
        />
      </Stack>
    </div>
  );
}

function End({ project, review }: { project: Project; review: Reviewing }) {
  const { session } = review;
  const params = { projectId: String(project.projectId) };
  const skipped = session.skipped.length;
  return (
    <Empty
      kind="nothing"
      title={session.queue.length === 0 ? "Nothing waits for review" : "That was the last one"}
      action={
        <Group justify="center">
          {skipped > 0 && <Button onClick={review.skippedAgain}>Go over {many(skipped, "skipped record")}</Button>}
          <GoToButton variant="default" to="/linking/$projectId" params={params}>
            Back to the project
          </GoToButton>
        </Group>
      }
    >
      {session.queue.length === 0 ? "Records appear here when they have candidates and none is clear." : `${many(session.deeds.length, "decision")} in this session.`}
    </Empty>
  );
}

/** The same as the keys, for thumbs; always in reach. */
function Keys({ project, review, onNote }: { project: Project; review: Reviewing; onNote: () => void }) {
  const { record, session } = review;
  const gone = record === null ? "There is no record here." : null;
  const undoable = session.deeds.at(-1);
  return (
    <Group gap="xs" className={classes.keys} role="toolbar" aria-label="Review">
      <Button variant="default" size="sm" aria-label="Previous record" disabled={session.at === 0} onClick={() => review.go(-1)}>
        <ArrowLeft size={16} aria-hidden />
      </Button>
      <Button variant="default" size="sm" aria-label="Next record" disabled={record === null} onClick={() => review.go(1)}>
        <ArrowRight size={16} aria-hidden />
      </Button>
      <Allowed role="operator" owner={project.owner} unless={gone}>
        <Button variant="default" size="sm" leftSection={<CircleX size={16} aria-hidden />} rightSection={<Hint text="0" />} onClick={review.reject}>
          None
        </Button>
      </Allowed>
      <Button variant="default" size="sm" leftSection={<SkipForward size={16} aria-hidden />} rightSection={<Hint text="s" />} disabled={record === null} onClick={review.skip}>
        Skip
      </Button>
      <Allowed role="operator" owner={project.owner} unless={undoable ? null : "Nothing was decided in this session."}>
        <Button
          variant="default"
          size="sm"
          leftSection={<Undo2 size={16} aria-hidden />}
          rightSection={<Hint text="u" />}
          onClick={review.undo}
        >
          Undo{undoable && <VisuallyHidden> record {undoable.number}</VisuallyHidden>}
        </Button>
      </Allowed>
      <Allowed role="operator" owner={project.owner} unless={gone}>
        <Button variant="default" size="sm" leftSection={<StickyNote size={16} aria-hidden />} rightSection={<Hint text="n" />} onClick={onNote}>
          Note
        </Button>
      </Allowed>
      <Text size="xs" c="dimmed" visibleFrom="sm">
        <Keyboard size={14} aria-hidden /> <Kbd size="xs">1</Kbd>–<Kbd size="xs">9</Kbd> accept, <Kbd size="xs">j</Kbd> <Kbd size="xs">k</Kbd> next and previous, <Kbd size="xs">?</Kbd> all keys
      </Text>
    </Group>
  );
}

function Hint({ text }: { text: string }) {
  return (
    <Kbd size="xs" visibleFrom="sm" aria-hidden>
      {text}
    </Kbd>
  );
}

function Noting({ review, record, onClose }: { review: Reviewing; record: RecordDetail; onClose: () => void }) {
  const [text, setText] = useState(record.note ?? "");
  async function save(): Promise<void> {
    if (await review.note(record.number, text)) onClose();
  }
  return (
    <Modal opened onClose={onClose} title={`Note on record ${record.number}`} closeButtonProps={{ "aria-label": "Close" }}>
      <Stack>
        <Textarea
          label="Note"
          description="Goes into exports. Ctrl Enter stores it."
          data-autofocus
          autosize
          minRows={3}
          maxLength={2000}
          value={text}
          onChange={(event) => setText(event.currentTarget.value)}
          onKeyDown={(event) => {
            if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) void save();
          }}
        />
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose}>
            Leave it
          </Button>
          <Button onClick={() => void save()}>Store the note</Button>
        </Group>
      </Stack>
    </Modal>
  );
}

function useReviewKeys(review: Reviewing, may: boolean, onNote: () => void): void {
  const { record, accept, reject, skip, undo, go } = review;
  const keys = useMemo((): Key[] => {
    const shown = record?.candidates.slice(0, MOST_KEYS) ?? [];
    const moves: Key[] = [
      { keys: "s", does: "Skip the record", act: skip },
      { keys: "j", does: "Next record", act: () => go(1) },
      { keys: "k", does: "Previous record", act: () => go(-1) },
      { keys: "ArrowRight", does: "Next record", act: () => go(1) },
      { keys: "ArrowLeft", does: "Previous record", act: () => go(-1) },
    ];
    if (!may) return moves;
    return [
      ...shown.map((one, index): Key => ({ keys: String(index + 1), does: `Accept candidate ${index + 1}`, act: () => accept(one) })),
      { keys: "0", does: "None of the candidates is it", act: reject },
      { keys: "u", does: "Undo the last decision", act: undo },
      { keys: "n", does: "Write a note", act: () => record && onNote() },
      ...moves,
    ];
  }, [record, accept, reject, skip, undo, go, may, onNote]);
  useKeys(keys);
}
