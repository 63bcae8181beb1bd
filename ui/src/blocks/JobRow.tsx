import { Table, Text } from "@mantine/core";
import type { Schemas } from "~/api/client";
import { GoTo } from "./links";
import { JobProgress } from "./Progress";
import { StateBadge } from "./StateBadge";
import { When } from "./When";

/** A job in a short table: name, state, progress, when it was created. */
export function JobRow({ job }: { job: Schemas["JobBody"] }) {
  return (
    <Table.Tr data-job={job.jobId}>
      <Table.Td maw={280}>
        <GoTo to="/jobs/$jobId" params={{ jobId: String(job.jobId) }} fw={500} className="stored">
          {job.name || job.fileName || `Job ${job.jobId}`}
        </GoTo>
        <Text size="xs" c="dimmed">
          {job.pipeline}
        </Text>
        {job.import?.problem && (
          <Text size="xs" c="red" className="stored">
            {job.import.problem.detail}
          </Text>
        )}
      </Table.Td>
      <Table.Td>
        <StateBadge state={job.queueState} />
      </Table.Td>
      <Table.Td>
        <JobProgress counts={job.counts} total={job.totalItems} size="sm" />
      </Table.Td>
      <Table.Td>
        <When at={job.createdAt} />
      </Table.Td>
    </Table.Tr>
  );
}
