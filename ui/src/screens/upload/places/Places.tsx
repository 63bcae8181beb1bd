import { Button, Group, Stack, Table, Text } from "@mantine/core";
import { useMutation, useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { FolderSearch, Plus, ScanLine } from "lucide-react";
import { useState } from "react";
import { api, ask } from "~/api/client";
import { Empty } from "~/blocks/Empty";
import { GoTo } from "~/blocks/links";
import { StateBadge } from "~/blocks/StateBadge";
import { Loading, Trouble } from "~/blocks/Trouble";
import { When } from "~/blocks/When";
import { Wide } from "~/blocks/Wide";
import { Allowed } from "~/shell/Allowed";
import { AddPlace } from "./AddPlace";
import { ForgetPlace } from "./ForgetPlace";
import { PlaceDrawer } from "./PlaceDrawer";
import { placeWords, type Place } from "./place";
import { ScanNow } from "./ScanNow";
import { TestResult } from "./TestResult";

const route = getRouteApi("/upload");

/** Folders, buckets and FTP servers whose files become jobs by themselves. */
export function Places() {
  const { place: open } = route.useSearch();
  const navigate = route.useNavigate();
  const [adding, setAdding] = useState(false);
  const [scanning, setScanning] = useState<string | null | undefined>(undefined);
  // A scan that takes a file makes a job, and that is when this list changes.
  const found = useQuery({
    queryKey: ["jobs", "places"],
    queryFn: ({ signal }) => ask(api.GET("/api/ingestion/sources", { params: { query: { pageSize: 500 } }, signal })),
  });
  const places = found.data?.items ?? [];
  const shown = places.find((one) => one.name === open);
  return (
    <Stack gap="md">
      <Group justify="space-between">
        <Text size="sm" c="dimmed" maw={640}>
          A scan takes the new files of a place, each as a job and each once. <code>penstock catalogue watch</code> scans again and again.
        </Text>
        <Group gap="xs">
          {places.length > 0 && (
            <Allowed role="operator">
              <Button variant="default" leftSection={<ScanLine size={14} aria-hidden />} onClick={() => setScanning(null)}>
                Scan all now
              </Button>
            </Allowed>
          )}
          <Allowed role="admin">
            <Button variant="default" leftSection={<Plus size={14} aria-hidden />} onClick={() => setAdding(true)}>
              Watch a place
            </Button>
          </Allowed>
        </Group>
      </Group>
      {found.isPending ? (
        <Loading />
      ) : found.isError ? (
        <Trouble error={found.error} again={() => void found.refetch()} />
      ) : places.length === 0 ? (
        <Empty kind="nothing" title="No places are watched">
          An admin can have a folder of the server, a bucket or an FTP server watched. Its files then need no upload.
        </Empty>
      ) : (
        <Wide minWidth={820} deeds>
          <Table verticalSpacing="xs" highlightOnHover>
            <Table.Thead>
              <Table.Tr>
                <Table.Th>Place</Table.Th>
                <Table.Th>Files</Table.Th>
                <Table.Th>State</Table.Th>
                <Table.Th>Last scan</Table.Th>
                <Table.Th aria-label="What can be done" />
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody>
              {places.map((place) => (
                <Row key={place.name} place={place} onScan={() => setScanning(place.name)} />
              ))}
            </Table.Tbody>
          </Table>
        </Wide>
      )}
      {adding && <AddPlace onClose={() => setAdding(false)} />}
      {scanning !== undefined && <ScanNow source={scanning} onClose={() => setScanning(undefined)} />}
      {shown && <PlaceDrawer place={shown} onClose={() => void navigate({ search: (was) => ({ ...was, place: undefined, files: undefined }) })} />}
    </Stack>
  );
}

function Row({ place, onScan }: { place: Place; onScan: () => void }) {
  const [forgetting, setForgetting] = useState(false);
  const test = useMutation({
    mutationFn: () => ask(api.POST("/api/ingestion/sources/{name}/test", { params: { path: { name: place.name } } })),
    meta: { touches: [], ownProblem: true },
  });
  return (
    <Table.Tr>
      <Table.Td>
        <GoTo to="/upload" search={{ tab: "places", place: place.name }} fw={500} className="stored">
          {place.name}
        </GoTo>
        <Text size="xs" c="dimmed" className="stored">
          {placeWords(place)}
        </Text>
        {place.problem && (
          <Text size="xs" c="red" className="stored">
            {place.problem}
          </Text>
        )}
        {test.data && <TestResult report={test.data} />}
        {test.error && (
          <Text size="xs" c="red" className="stored" role="alert">
            {test.error.message}
          </Text>
        )}
      </Table.Td>
      <Table.Td>
        <Text size="sm" className="stored mono">
          {place.pattern}
        </Text>
        <Text size="xs" c="dimmed">
          to {place.pipeline}, as {place.owner}; then {AFTER[place.after] ?? place.after}
        </Text>
      </Table.Td>
      <Table.Td>
        {!place.enabled ? <StateBadge state="PAUSED" word="Off" /> : place.problem ? <StateBadge state="ERROR" word="Trouble" /> : <StateBadge state="DONE" word="Watched" />}
      </Table.Td>
      <Table.Td>{place.scannedAt ? <When at={place.scannedAt} /> : "not yet"}</Table.Td>
      <Table.Td>
        <Group gap="xs" justify="flex-end" wrap="nowrap">
          <Allowed role="operator" owner={place.owner}>
            <Button size="xs" variant="default" loading={test.isPending} leftSection={<FolderSearch size={14} aria-hidden />} onClick={() => test.mutate()}>
              Test
            </Button>
          </Allowed>
          <Allowed role="operator" owner={place.owner}>
            <Button size="xs" variant="default" leftSection={<ScanLine size={14} aria-hidden />} onClick={onScan}>
              Scan now
            </Button>
          </Allowed>
          <Allowed role="admin">
            <Button size="xs" variant="default" onClick={() => setForgetting(true)}>
              Forget
            </Button>
          </Allowed>
        </Group>
        {forgetting && <ForgetPlace name={place.name} onClose={() => setForgetting(false)} />}
      </Table.Td>
    </Table.Tr>
  );
}

const AFTER: Record<string, string> = { keep: "they stay", move: "they are moved", delete: "they are deleted" };
