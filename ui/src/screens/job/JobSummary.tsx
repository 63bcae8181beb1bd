import { Group, Paper, Progress, SimpleGrid, Stack, Text } from "@mantine/core";
import { ChevronRight } from "lucide-react";
import { Fragment } from "react";
import { JobProgress } from "~/blocks/Progress";
import { StateBadge } from "~/blocks/StateBadge";
import { When } from "~/blocks/When";
import { bytes, count, many, percent } from "~/blocks/wording";
import { etaSentence, paceWords } from "./eta";
import classes from "./job.module.css";
import type { JobDetail } from "./useJob";

/** How far it is, how quick, how long still and why. */
export function JobSummary({ job }: { job: JobDetail }) {
  const eta = etaSentence(job);
  const pace = paceWords(job);
  // What holds it up tells its own time.
  const due = job.nextDueAt !== null && job.etaCause === null && (job.queueState === "RUNNING" || job.queueState === "QUEUED");
  return (
    <Paper withBorder p="md">
      <SimpleGrid cols={{ base: 1, sm: 2 }} spacing="lg">
        <Stack gap="xs">
          <Group gap="sm">
            <StateBadge state={job.queueState} />
            {job.queueState === "CANCELLED" && job.cancelledBy && <Text size="sm">by {job.cancelledBy}</Text>}
            {pace && (
              <Text size="sm" className="numbers">
                {pace}
              </Text>
            )}
          </Group>
          <JobProgress counts={job.counts} total={job.totalItems} size="lg" />
          {eta && (
            <Text size="sm" className="stored" data-eta>
              {job.etaSeconds !== null && "Left: "}
              {eta}
            </Text>
          )}
          {due && (
            <Text size="sm" c="dimmed">
              The next item is due <When at={job.nextDueAt} />.
            </Text>
          )}
        </Stack>
        <Stack gap="xs">
          <Steps job={job} />
          <Importing job={job} />
          <Callback job={job} />
        </Stack>
      </SimpleGrid>
    </Paper>
  );
}

function Steps({ job }: { job: JobDetail }) {
  return (
    <ol className={classes.steps} aria-label="Stages of the pipeline">
      {job.steps.map((step, index) => (
        <Fragment key={step.stage}>
          {index > 0 && (
            <li aria-hidden className={classes.arrow}>
              <ChevronRight size={16} />
            </li>
          )}
          <li className={classes.step} data-current={step.stage === job.currentStep || undefined} aria-current={step.stage === job.currentStep ? "step" : undefined}>
            <Text size="sm" fw={600} className="stored">
              {step.stage}
            </Text>
            <Text size="xs" c="dimmed" className="numbers">
              {stepWords(step)}
            </Text>
          </li>
        </Fragment>
      ))}
    </ol>
  );
}

function stepWords(step: JobDetail["steps"][number]): string {
  const parts: [number, string][] = [
    [step.waiting, "waiting"],
    [step.running, "taken by workers"],
    [step.done, "ended well"],
    [step.failed, "failed"],
    [step.cancelled, "cancelled"],
  ];
  const words = parts.filter(([n]) => n > 0).map(([n, word]) => `${count(n)} ${word}`);
  return words.length === 0 ? "nothing yet" : words.join(" · ");
}

/** Only while rows of the file still come; its problems are notices. */
function Importing({ job }: { job: JobDetail }) {
  const found = job.import;
  if (found === null || (found.state !== "waiting" && found.state !== "storing")) return null;
  const share = found.sizeBytes ? found.bytesRead / found.sizeBytes : null;
  return (
    <div>
      <Text size="sm">
        {found.state === "waiting" ? "The file waits for a worker that stores its rows." : `Storing the rows of the file: ${count(found.rowsStored)} so far`}
        {share !== null && found.state === "storing" && `, ${percent(share)} of ${bytes(found.sizeBytes)}`}
      </Text>
      {share !== null && <Progress value={share * 100} size="sm" aria-label="How much of the file is stored" />}
      {found.batchReason && (
        <Text size="xs" c="dimmed">
          {many(found.batchRows ?? 0, "row")} at a time: {found.batchReason}
        </Text>
      )}
    </div>
  );
}

function Callback({ job }: { job: JobDetail }) {
  const callback = job.callback;
  if (callback === null) return null;
  return (
    <Text size="sm" className="stored">
      {callback.calledBackAt ? (
        <>
          Called {callback.pipeline} <When at={callback.calledBackAt} />
          {callback.taskId !== null && ` as item ${callback.taskId}`}
        </>
      ) : (
        <>Calls {callback.pipeline} when its last item ends.</>
      )}
    </Text>
  );
}
