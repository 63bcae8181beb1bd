import { Group, Stack, Table, Text } from "@mantine/core";
import type { Schemas } from "~/api/client";
import { GoTo } from "~/blocks/links";
import { JobProgress } from "~/blocks/Progress";
import { StateBadge } from "~/blocks/StateBadge";
import { When } from "~/blocks/When";

export function NewestJobs({ jobs }: { jobs: Schemas["JobBody"][] }) {
  return (
    <Stack gap="xs">
      <Table.ScrollContainer minWidth={560}>
        <Table verticalSpacing="xs">
          <Table.Thead>
            <Table.Tr>
              <Table.Th>Job</Table.Th>
              <Table.Th miw={120}>State</Table.Th>
              <Table.Th miw={180}>Progress</Table.Th>
              <Table.Th>Submitted</Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {jobs.map((job) => (
              <Table.Tr key={job.jobId} data-job={job.jobId}>
                <Table.Td maw={280}>
                  <GoTo to="/jobs/$jobId" params={{ jobId: String(job.jobId) }} fw={500} className="stored">
                    {job.name || job.fileName || `Job ${job.jobId}`}
                  </GoTo>
                  <Text size="xs" c="dimmed">
                    {job.pipeline}
                  </Text>
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
            ))}
          </Table.Tbody>
        </Table>
      </Table.ScrollContainer>
      <Group>
        <GoTo to="/jobs" size="sm">
          All jobs
        </GoTo>
      </Group>
    </Stack>
  );
}
