import { Checkbox, Select, Stack, Text } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { api, ask, type Schemas } from "~/api/client";
import { tellDone } from "~/api/queries";
import { Confirm } from "~/blocks/Confirm";
import { count, many, stateWord } from "~/blocks/wording";
import type { JobDetail } from "./useJob";

type Status = NonNullable<Schemas["ReprocessBody"]["statuses"]>[number];

const CHOICES: [Status, keyof JobDetail["counts"]][] = [
  ["ERROR", "error"],
  ["NOT_FOUND", "notFound"],
  ["CANCELLED", "cancelled"],
  ["SKIPPED", "skipped"],
  ["DONE", "done"],
];

/** What the API takes where nobody names statuses; else the first that there are, but never what succeeded. */
function chosenAtFirst(job: JobDetail): Status[] {
  const there = CHOICES.filter(([, key]) => job.counts[key] > 0).map(([status]) => status);
  const unsuccessful = there.filter((status) => status === "ERROR" || status === "NOT_FOUND");
  return unsuccessful.length > 0 ? unsuccessful : there.filter((status) => status !== "DONE").slice(0, 1);
}

/** Items of a job, by how they ended; the counts are those that are kept, so they say what will start. */
export function RunAgain({ job, onClose }: { job: JobDetail; onClose: () => void }) {
  const [chosen, setChosen] = useState<string[]>(() => chosenAtFirst(job));
  const [stage, setStage] = useState<string | null>(null);
  const number = CHOICES.reduce((sum, [status, key]) => sum + (chosen.includes(status) ? job.counts[key] : 0), 0);
  const start = useMutation({
    mutationFn: () =>
      ask(
        api.POST("/api/jobs/{jobId}/reprocess", {
          params: { path: { jobId: job.jobId } },
          body: {
            scope: "job",
            statuses: CHOICES.map(([status]) => status).filter((status) => chosen.includes(status)),
            fromStage: stage,
            resetAttempts: true,
          },
        }),
      ),
    meta: { touches: [["job", job.jobId], ["jobs"]] },
    onSuccess: ({ started }) => tellDone(`${many(started, "item")} started again.`),
  });
  return (
    <Confirm
      title="Run items again"
      verb={number === 0 ? "Run again" : `Run ${many(number, "item")} again`}
      waits={number === 0}
      onConfirm={() => start.mutateAsync()}
      onClose={onClose}
    >
      <Stack>
        <Checkbox.Group label="Those that ended as" value={chosen} onChange={setChosen}>
          <Stack gap="xs" mt="xs">
            {CHOICES.map(([status, key]) => (
              <Checkbox key={status} value={status} disabled={job.counts[key] === 0} label={`${stateWord(status)}: ${count(job.counts[key])}`} />
            ))}
          </Stack>
        </Checkbox.Group>
        {job.steps.length > 1 && (
          <Select
            label="From stage"
            description="Results of earlier stages are kept."
            placeholder="Where each one ended"
            clearable
            clearButtonProps={{ "aria-label": "Where each one ended" }}
            data={job.steps.map((step) => step.stage)}
            value={stage}
            onChange={setStage}
          />
        )}
        <Text size="sm">
          {number === 0
            ? "Choose at least one."
            : `${many(number, "item")} will wait for a worker again, with fresh attempts. What they came to before goes into their history.`}
        </Text>
      </Stack>
    </Confirm>
  );
}
