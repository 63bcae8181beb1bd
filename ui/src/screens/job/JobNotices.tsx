import { Alert, Group, Stack, Text } from "@mantine/core";
import { CirclePause, FileWarning, TriangleAlert, Wrench } from "lucide-react";
import { GoToButton } from "~/blocks/links";
import { count, many } from "~/blocks/wording";
import type { JobDetail } from "./useJob";

/** What somebody should know or do about this job; one next step each. */
export function JobNotices({ job }: { job: JobDetail }) {
  const problem = job.import?.problem ?? null;
  return (
    <>
      {job.queueState === "PAUSED" && (
        <Alert color="orange" icon={<CirclePause aria-hidden />} title={`Paused${job.pausedBy ? ` by ${job.pausedBy}` : ""}`}>
          <span className="stored">{job.pauseReason ?? "Nothing more of it is started until somebody resumes it."}</span>
        </Alert>
      )}
      {job.import !== null && (job.import.state === "failed" || problem !== null) && (
        <Alert color="red" icon={<FileWarning aria-hidden />} title="The file could not be read to its end">
          <Text size="sm" className="stored">
            {problem?.detail ?? "Its import failed."}
          </Text>
          <Text size="sm">
            {problem?.row != null && `Row ${count(problem.row)}`}
            {problem?.column != null && `, column ${problem.column}`}
            {problem?.row != null && ". "}
            {many(job.import.rowsStored, "row")} before it {job.import.rowsStored === 1 ? "is" : "are"} stored.
          </Text>
        </Alert>
      )}
      {job.callback?.problem && (
        <Alert color="red" icon={<TriangleAlert aria-hidden />} title={`${job.callback.pipeline} could not be called`}>
          <span className="stored">{job.callback.problem}</span>
        </Alert>
      )}
      {job.failedItems > 0 && (
        <Alert color="red" icon={<TriangleAlert aria-hidden />} title={`${many(job.failedItems, "row")} failed`}>
          <Stack gap="xs" align="flex-start">
            {job.lastError && (
              <Text size="sm" className="stored" lineClamp={3}>
                The last one: {job.lastError}
              </Text>
            )}
            <Group gap="xs">
              <GoToButton
                to="/jobs/$jobId"
                params={{ jobId: String(job.jobId) }}
                search={{ status: ["ERROR"] }}
                size="xs"
                variant="default"
                leftSection={<Wrench size={14} aria-hidden />}
              >
                Fix the failed rows
              </GoToButton>
            </Group>
          </Stack>
        </Alert>
      )}
    </>
  );
}
