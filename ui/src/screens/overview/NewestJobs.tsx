import { Group, Stack, Table } from "@mantine/core";
import type { Schemas } from "~/api/client";
import { JobRow } from "~/blocks/JobRow";
import { GoTo } from "~/blocks/links";

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
              <JobRow key={job.jobId} job={job} />
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
