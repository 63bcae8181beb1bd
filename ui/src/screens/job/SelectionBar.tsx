import { Alert, Button, Group, List, Paper, Stack, Text } from "@mantine/core";
import { useMutation, useQuery } from "@tanstack/react-query";
import { Ban, Copy, RotateCw, X } from "lucide-react";
import { useId, useState } from "react";
import { api, ask, type Schemas } from "~/api/client";
import { tellDone, tellProblem } from "~/api/queries";
import { Confirm } from "~/blocks/Confirm";
import { GoTo } from "~/blocks/links";
import { JobProgress } from "~/blocks/Progress";
import { Loading, Trouble } from "~/blocks/Trouble";
import { count, many, stateWord } from "~/blocks/wording";
import { Allowed } from "~/shell/Allowed";
import { copyText } from "./gridCopy";
import { countOf, isEmpty, type Picked } from "./selection";

export type Filter = NonNullable<Schemas["NewSelection"]["filter"]>;
type Action = Schemas["ActionBody"]["action"];

/** With the number, because buttons of the whole job stand above. */
function verb(action: Action, number: number | null, estimate = false): string {
  const what = number === null ? "these" : count(number, estimate);
  return action === "reprocess" ? `Run ${what} again` : `Cancel ${what}`;
}

type Props = {
  picked: Picked;
  filter: Filter;
  /** How many match, where a counter knows it. */
  matching: number | null;
  /** Whose items these are, where they are one person's. */
  owner?: string | null;
  /** The rows with these ids as lines for a spreadsheet. */
  linesOf: (ids: number[]) => Promise<string>;
  onClear: () => void;
};

/** What can be done with what was picked. The doing is a job, whose progress is shown here. */
export function SelectionBar({ picked, filter, matching, owner, linesOf, onClear }: Props) {
  const [asking, setAsking] = useState<Action | null>(null);
  const [jobs, setJobs] = useState<number[]>([]);
  const n = countOf(picked, matching);
  const some = !isEmpty(picked);
  return (
    <>
      {some && (
        <Paper withBorder px="sm" py={6} role="region" aria-label="Selection">
          <Group gap="xs">
            <Text fw={600} size="sm" className="numbers" role="status" mr="auto">
              {words(picked, n)}
            </Text>
            <Allowed role="operator" owner={owner}>
              <Button size="xs" variant="default" leftSection={<RotateCw size={14} aria-hidden />} onClick={() => setAsking("reprocess")}>
                {verb("reprocess", n)}
              </Button>
            </Allowed>
            <Allowed role="operator" owner={owner}>
              <Button size="xs" variant="default" leftSection={<Ban size={14} aria-hidden />} onClick={() => setAsking("cancel")}>
                {verb("cancel", n)}
              </Button>
            </Allowed>
            <Allowed role="viewer" unless={picked.all ? "Rows that were picked one by one can be copied. The export of the job has all of them." : null}>
              <Button size="xs" variant="default" leftSection={<Copy size={14} aria-hidden />} onClick={() => void copy(picked, linesOf)}>
                Copy rows
              </Button>
            </Allowed>
            <Button size="xs" variant="subtle" leftSection={<X size={14} aria-hidden />} onClick={onClear}>
              Clear
            </Button>
          </Group>
        </Paper>
      )}
      {jobs.map((jobId) => (
        <ActionProgress key={jobId} jobId={jobId} onClose={() => setJobs((all) => all.filter((one) => one !== jobId))} />
      ))}
      {asking && (
        <Ask
          action={asking}
          picked={picked}
          filter={filter}
          onClose={() => setAsking(null)}
          onDone={(jobId) => {
            setJobs((all) => (all.includes(jobId) ? all : [...all, jobId]));
            onClear();
          }}
        />
      )}
    </>
  );
}

function words(picked: Picked, n: number | null): string {
  if (!picked.all) return `${count(n)} selected`;
  const but = picked.ids.size > 0 ? ` but ${count(picked.ids.size)}` : "";
  return n === null ? `All that match${but}` : `All ${count(n)} matching${but && ` (without ${count(picked.ids.size)})`}`;
}

async function copy(picked: Picked, linesOf: Props["linesOf"]): Promise<void> {
  try {
    const ids = [...picked.ids];
    await copyText(await linesOf(ids));
    tellDone(`${many(ids.length, "row")} copied.`);
  } catch (error) {
    tellProblem(error);
  }
}

type AskProps = { action: Action; picked: Picked; filter: Filter; onClose: () => void; onDone: (jobId: number) => void };

function Ask({ action, picked, filter, onClose, onDone }: AskProps) {
  const question = useId();
  const dry = useQuery({
    // Asked anew each time: it is about now.
    queryKey: ["selection", question],
    gcTime: 0,
    staleTime: Infinity,
    refetchOnWindowFocus: false,
    queryFn: async () => {
      const body = picked.all ? { filter, except: [...picked.ids] } : { itemIds: [...picked.ids] };
      const { selectionId } = await ask(api.POST("/api/selections", { body }));
      const params = { path: { selectionId } };
      return { selectionId, told: await ask(api.POST("/api/selections/{selectionId}/actions", { params, body: { action, dryRun: true } })) };
    },
  });
  const act = useMutation({
    mutationFn: (selectionId: number) => ask(api.POST("/api/selections/{selectionId}/actions", { params: { path: { selectionId } }, body: { action, dryRun: false } })),
    meta: { touches: [["jobs"], ["job"]] },
    onSuccess: (told) => told.jobId !== null && onDone(told.jobId),
  });
  const changes = dry.data?.told.changes ?? 0;
  return (
    <Confirm
      title={action === "reprocess" ? "Run these again?" : "Cancel these?"}
      verb={verb(action, dry.data ? changes : null, dry.data?.told.estimate)}
      danger={action === "cancel"}
      waits={!dry.data || changes === 0}
      onConfirm={() => (dry.data ? act.mutateAsync(dry.data.selectionId) : Promise.resolve())}
      onClose={onClose}
    >
      {dry.isPending ? <Loading rows={2} /> : dry.isError ? <Trouble error={dry.error} /> : <Outlook action={action} told={dry.data.told} />}
    </Confirm>
  );
}

function Outlook({ action, told }: { action: Action; told: Schemas["ActionAnswer"] }) {
  const { estimate } = told;
  const items = (estimate ? "≈ " : "") + many(told.changes, "item");
  return (
    <Stack gap="xs">
      <Text>
        {told.changes === 0
          ? "None of them can be changed that way now."
          : action === "reprocess"
            ? `Fresh attempts for ${items}; what waits for its next try starts now. Outcomes so far stay in the history.`
            : `${items}: what waits ends cancelled, what runs is asked to stop.`}
      </Text>
      {told.changes > 0 && <Counts rows={told.byStatus.map((one) => `${count(one.count, estimate)} ${stateWord(one.status).toLowerCase()}`)} />}
      {told.leftAlone.length > 0 && (
        <>
          <Text size="sm">Left alone:</Text>
          <Counts rows={told.leftAlone.map((one) => `${count(one.count, estimate)} ${stateWord(one.status).toLowerCase()}: ${one.reason}`)} />
        </>
      )}
      {estimate && (
        <Text size="sm" c="dimmed">
          ≈ There are more than were counted. All that match are taken.
        </Text>
      )}
    </Stack>
  );
}

function Counts({ rows }: { rows: string[] }) {
  return (
    <List size="sm">
      {rows.map((row) => (
        <List.Item key={row}>{row}</List.Item>
      ))}
    </List>
  );
}

function ActionProgress({ jobId, onClose }: { jobId: number; onClose: () => void }) {
  const found = useQuery({
    queryKey: ["job", jobId, "action"],
    queryFn: ({ signal }) => ask(api.GET("/api/jobs/{jobId}", { params: { path: { jobId } }, signal })),
  });
  const job = found.data;
  return (
    <Alert variant="light" withCloseButton onClose={onClose} closeButtonLabel="Close" py="xs" role="status" data-action-job={jobId}>
      <Stack gap={4}>
        <Text size="sm" component="div">
          {job?.name ?? "It has been asked for"} ·{" "}
          <GoTo to="/jobs/$jobId" params={{ jobId: String(jobId) }} size="sm">
            Go to job {jobId}
          </GoTo>
          {job?.queueState === "DONE" && " · done"}
        </Text>
        {job && job.queueState !== "DONE" && <JobProgress counts={job.counts} total={job.totalItems} size="sm" />}
      </Stack>
    </Alert>
  );
}
