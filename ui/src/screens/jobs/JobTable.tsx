import { Group, Paper, Stack, Table, Text } from "@mantine/core";
import { useMediaQuery } from "@mantine/hooks";
import type { Schemas } from "~/api/client";
import { GoTo } from "~/blocks/links";
import { JobProgress } from "~/blocks/Progress";
import { StateBadge } from "~/blocks/StateBadge";
import { When } from "~/blocks/When";
import { many, rate } from "~/blocks/wording";
import { etaSentence } from "~/screens/job/eta";

type Job = Schemas["JobBody"];

/** Rows of a table; cards where there is no room for one. */
export function JobTable({ jobs, everybody }: { jobs: Job[]; everybody?: true }) {
  const narrow = useMediaQuery("(max-width: 40em)", undefined, { getInitialValueInEffect: false });
  if (narrow)
    return (
      <Stack gap="xs" role="list" aria-label="Jobs">
        {jobs.map((job) => (
          <JobCard key={job.jobId} job={job} everybody={everybody} />
        ))}
      </Stack>
    );
  return (
    <Table.ScrollContainer minWidth={820}>
      <Table verticalSpacing="xs" highlightOnHover aria-label="Jobs">
        <Table.Thead>
          <Table.Tr>
            <Table.Th>Job</Table.Th>
            <Table.Th>State</Table.Th>
            <Table.Th w={200}>Progress</Table.Th>
            <Table.Th>Rate</Table.Th>
            <Table.Th>Time left, and why</Table.Th>
            {everybody && <Table.Th>Owner</Table.Th>}
            <Table.Th>Created</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {jobs.map((job) => (
            <JobRow key={job.jobId} job={job} everybody={everybody} />
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  );
}

function JobRow({ job, everybody }: { job: Job; everybody?: true }) {
  return (
    <Table.Tr data-job={job.jobId}>
      <Table.Td maw={320}>
        <Named job={job} />
      </Table.Td>
      <Table.Td miw={120}>
        <StateBadge state={job.queueState} />
      </Table.Td>
      <Table.Td>
        <Far job={job} />
      </Table.Td>
      <Table.Td className="numbers">{rate(job.perSecond)}</Table.Td>
      <Table.Td maw={260}>
        <Text size="sm" className="stored">
          {left(job) ?? "–"}
        </Text>
      </Table.Td>
      {everybody && <Table.Td className="stored">{job.owner ?? "–"}</Table.Td>}
      <Table.Td>
        <When at={job.createdAt} />
      </Table.Td>
    </Table.Tr>
  );
}

function JobCard({ job, everybody }: { job: Job; everybody?: true }) {
  return (
    <Paper withBorder p="sm" role="listitem" data-job={job.jobId}>
      <Stack gap={6}>
        <Named job={job} />
        <Group gap="sm">
          <StateBadge state={job.queueState} />
          <Text size="xs" c="dimmed" className="stored">
            {everybody && job.owner && `${job.owner} · `}
            <When at={job.createdAt} />
          </Text>
        </Group>
        <Far job={job} />
        {left(job) && (
          <Text size="sm" className="stored">
            {left(job)}
          </Text>
        )}
      </Stack>
    </Paper>
  );
}

function Named({ job }: { job: Job }) {
  return (
    <>
      <GoTo to="/jobs/$jobId" params={{ jobId: String(job.jobId) }} fw={500} className="stored">
        {job.name ?? `Job ${job.jobId}`}
      </GoTo>
      <Text size="xs" c="dimmed" className="stored">
        {job.jobId} · {job.pipeline}
        {job.fileName && job.fileName !== job.name && ` · ${job.fileName}`}
      </Text>
    </>
  );
}

function Far({ job }: { job: Job }) {
  return (
    <div>
      <JobProgress counts={job.counts} total={job.totalItems} size="sm" />
      {job.failedItems > 0 && (
        <GoTo to="/jobs/$jobId" params={{ jobId: String(job.jobId) }} search={{ status: ["ERROR"] }} size="xs">
          See {many(job.failedItems, "failed row")}
        </GoTo>
      )}
    </div>
  );
}

function left(job: Job): string | null {
  return job.import?.state === "failed" ? "The file could not be read to its end" : etaSentence(job);
}
