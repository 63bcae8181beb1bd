import { Button, Group, NativeSelect, Stack, Table, Text, Title } from "@mantine/core";
import { useInfiniteQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { api, ask } from "~/api/client";
import { Drawer } from "~/blocks/Drawer";
import { Empty } from "~/blocks/Empty";
import { Facts } from "~/blocks/Facts";
import { GoTo } from "~/blocks/links";
import { StateBadge } from "~/blocks/StateBadge";
import { Loading, Trouble } from "~/blocks/Trouble";
import { When } from "~/blocks/When";
import { bytes, duration, sentence } from "~/blocks/wording";
import { FILE_STATES } from "../search";
import { placeWords, type Place } from "./place";

const route = getRouteApi("/upload");
const LOOKS: Record<(typeof FILE_STATES)[number], string> = {
  seen: "PENDING",
  submitting: "PROCESSING",
  submitted: "DONE",
  duplicate: "SKIPPED",
  refused: "ERROR",
  gone: "CANCELLED",
};

/** What was seen in a place and what became of it. */
export function PlaceDrawer({ place, onClose }: { place: Place; onClose: () => void }) {
  const { files: state } = route.useSearch();
  const navigate = route.useNavigate();
  const found = useInfiniteQuery({
    queryKey: ["jobs", "places", place.name, state],
    queryFn: ({ pageParam, signal }) =>
      ask(api.GET("/api/ingestion/sources/{name}/files", { params: { path: { name: place.name }, query: { state, after: pageParam } }, signal })),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => page.nextCursor ?? undefined,
  });
  const files = found.data?.pages.flatMap((page) => page.items) ?? [];
  return (
    <Drawer title={place.name} onClose={onClose}>
      <Stack gap="md">
        <Facts
          rows={[
            ["Where", placeWords(place)],
            ["Files", place.pattern],
            ["To", place.pipeline],
            ["Owner", place.owner],
            ["Taken after", `${duration(place.stableSeconds)} without a change`],
            ["Afterwards", { keep: "the file stays", move: `moved to ${place.target ?? ""}`, delete: "the file is deleted" }[place.after] ?? place.after],
            ["Login from", [place.userEnv, place.secretEnv].filter(Boolean).join(", ")],
            ["Added", `by ${place.createdBy}`],
            ["Last scan", place.scannedAt ? <When key="scan" at={place.scannedAt} /> : "not yet"],
            ["Trouble", place.problem],
          ]}
        />
        <Group justify="space-between" align="flex-end">
          <Title order={3} size="h4">
            What was seen
          </Title>
          <NativeSelect
            size="xs"
            aria-label="Which files"
            value={state ?? ""}
            onChange={(event) => void navigate({ search: (was) => ({ ...was, files: FILE_STATES.find((one) => one === event.currentTarget.value) }) })}
            data={[{ value: "", label: "All" }, ...FILE_STATES.map((one) => ({ value: one, label: sentence(one) }))]}
          />
        </Group>
        {found.isPending ? (
          <Loading rows={3} />
        ) : found.isError ? (
          <Trouble error={found.error} again={() => void found.refetch()} />
        ) : files.length === 0 ? (
          state === undefined ? (
            <Empty kind="nothing" title="Nothing was seen yet">
              Scan now looks once; <code>penstock catalogue watch</code> looks again and again.
            </Empty>
          ) : (
            <Empty kind="filtered" title={`No file is ${state}`} />
          )
        ) : (
          <>
            <Table verticalSpacing="xs">
              <Table.Tbody>
                {files.map((file) => (
                  <Table.Tr key={file.path}>
                    <Table.Td>
                      <Text size="sm" className="stored">
                        {file.path}
                      </Text>
                      {file.problem && (
                        <Text size="xs" c="red" className="stored">
                          {file.problem}
                        </Text>
                      )}
                      <Text size="xs" c="dimmed">
                        {bytes(file.sizeBytes)}, <When at={file.settledAt ?? file.firstSeenAt} />
                      </Text>
                    </Table.Td>
                    <Table.Td>
                      <StateBadge state={file.state} look={LOOKS[file.state]} word={sentence(file.state)} />
                    </Table.Td>
                    <Table.Td>
                      {file.jobId !== null && (
                        <GoTo to="/jobs/$jobId" params={{ jobId: String(file.jobId) }}>
                          Job {file.jobId}
                        </GoTo>
                      )}
                    </Table.Td>
                  </Table.Tr>
                ))}
              </Table.Tbody>
            </Table>
            {found.hasNextPage && (
              <Button variant="default" loading={found.isFetchingNextPage} onClick={() => void found.fetchNextPage()}>
                Show more
              </Button>
            )}
          </>
        )}
      </Stack>
    </Drawer>
  );
}
