import { Stack, Table, Text, Title } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { api, ask } from "~/api/client";
import { JobRow } from "~/blocks/JobRow";
import { Loading, Trouble } from "~/blocks/Trouble";
import { Wide } from "~/blocks/Wide";
import { useMe } from "~/shell/me";

const KINDS = ["csv", "xlsx", "images"];

export function RecentUploads() {
  const viewer = useMe().role === "viewer";
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
          None yet.{viewer ? "" : " What you upload appears here with how far it is."}
        </Text>
      ) : (
        <Wide minWidth={560}>
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
              <JobRow key={job.jobId} job={job} />
            ))}
            </Table.Tbody>
          </Table>
        </Wide>
      )}
    </Stack>
  );
}
