import { Stack, Table, Text, Title } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { api, ask } from "~/api/client";
import { GoTo } from "~/blocks/links";
import { JobProgress } from "~/blocks/Progress";
import { StateBadge } from "~/blocks/StateBadge";
import { Loading, Trouble } from "~/blocks/Trouble";
import { When } from "~/blocks/When";

const KINDS = ["csv", "xlsx", "images"];

export function RecentUploads() {
  const found = useQuery({
    queryKey: ["jobs", "recent uploads"],
    queryFn: ({ signal }) => ask(api.GET("/api/jobs", { params: { query: { pageSize: 30 } }, signal })),
  });
  const uploads = found.data?.items.filter((job) => job.type !== null && KINDS.includes(job.type)).slice(0, 8) ?? [];
  return (
    <Stack gap="xs" mt="xl">
      <Title order={2} size="h3">
        Recent uploads
      </Title>
      {found.isPending ? (
        <Loading rows={3} />
      ) : found.isError ? (
        <Trouble error={found.error} again={() => void found.refetch()} />
      ) : uploads.length === 0 ? (
        <Text c="dimmed" size="sm" data-empty="nothing">
          None yet. What you upload appears here with how far it is.
        </Text>
      ) : (
        <Table.ScrollContainer minWidth={560}>
          <Table verticalSpacing="xs">
            <Table.Thead>
              <Table.Tr>
                <Table.Th>File</Table.Th>
                <Table.Th>State</Table.Th>
                <Table.Th w={180}>Progress</Table.Th>
                <Table.Th>Sent</Table.Th>
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody>
              {uploads.map((job) => (
                <Table.Tr key={job.jobId}>
                  <Table.Td>
                    <GoTo to="/jobs/$jobId" params={{ jobId: String(job.jobId) }} className="stored">
                      {job.name ?? job.fileName ?? `Job ${job.jobId}`}
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
              ))}
            </Table.Tbody>
          </Table>
        </Table.ScrollContainer>
      )}
    </Stack>
  );
}
