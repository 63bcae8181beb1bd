import { Button, Group, Stack, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { Download, ListChecks } from "lucide-react";
import { useState } from "react";
import { api, ask } from "~/api/client";
import { Empty } from "~/blocks/Empty";
import { ExportJob } from "~/blocks/ExportDialog";
import { GoToButton } from "~/blocks/links";
import { Page } from "~/blocks/Page";
import { JobProgress } from "~/blocks/Progress";
import { StateBadge } from "~/blocks/StateBadge";
import { Loading, Trouble } from "~/blocks/Trouble";
import { When } from "~/blocks/When";
import { percent } from "~/blocks/wording";
import { Answers } from "./Answers";
import { Products } from "./Products";
import { foundShare } from "./quality";
import { ProvenanceDrawer } from "./ProvenanceDrawer";

const route = getRouteApi("/catalogues/$jobId");

export function Catalogue() {
  const { jobId } = route.useParams();
  const { item } = route.useSearch();
  const navigate = route.useNavigate();
  const id = Number(jobId);
  const known = Number.isSafeInteger(id) && id > 0;
  const found = useQuery({
    queryKey: ["job", id, "catalogue"],
    queryFn: ({ signal }) => ask(api.GET("/api/catalogues/{jobId}", { params: { path: { jobId: id } }, signal })),
    enabled: known,
  });
  const [exporting, setExporting] = useState(false);
  if (!known) {
    return (
      <Page title="Catalogue">
        <Empty kind="nothing" title="There is no such catalogue" />
      </Page>
    );
  }
  if (!found.data) return <Page title={`Catalogue ${id}`}>{found.isError ? <Trouble error={found.error} again={() => void found.refetch()} /> : <Loading />}</Page>;
  const list = found.data;
  const share = foundShare(list.counts);
  return (
    <Page
      title={list.name ?? list.fileName ?? `Catalogue ${id}`}
      about={
        <Group gap="xs">
          <StateBadge state={list.queueState} />
          {share !== null && <span className="numbers">{percent(share)} found</span>}
          <span>
            sent <When at={list.createdAt} /> {list.owner && `by ${list.owner}`}
          </span>
        </Group>
      }
      actions={
        <>
          <GoToButton to="/jobs/$jobId" params={{ jobId }} variant="default" leftSection={<ListChecks size={14} aria-hidden />}>
            Job
          </GoToButton>
          <Button variant="default" leftSection={<Download size={14} aria-hidden />} onClick={() => setExporting(true)}>
            Export
          </Button>
        </>
      }
    >
      <Stack gap="md">
        <JobProgress counts={list.counts} total={list.totalItems} size="lg" />
        {list.looksAgainAt !== null && (
          <Text size="sm" data-looks-again>
            Some products were not found; they are looked for again <When at={list.looksAgainAt} />. They count as not found after the last try.
          </Text>
        )}
        <Answers list={list} />
        {Object.keys(list.roles).length > 0 && (
          <Text size="sm" className="stored">
            <Text span c="dimmed">
              Columns:{" "}
            </Text>
            {Object.entries(list.roles)
              .map(([role, heading]) => `${heading} is the ${role}`)
              .join(", ")}
          </Text>
        )}
        <Products jobId={id} total={list.totalItems} counts={list.counts} />
      </Stack>
      {exporting && <ExportJob jobId={id} rows={list.totalItems} onClose={() => setExporting(false)} />}
      {item !== undefined && <ProvenanceDrawer jobId={id} itemId={item} onClose={() => void navigate({ search: (was) => ({ ...was, item: undefined }) })} />}
    </Page>
  );
}
