import { Tabs } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { api, ask } from "~/api/client";
import { Page } from "~/blocks/Page";
import { Loading, Trouble } from "~/blocks/Trouble";
import { GridTab } from "./GridTab";
import { ItemDrawer } from "./ItemDrawer";
import { PendingTab } from "./PendingTab";

export function Job() {
  const jobId = Number(useParams({ from: "/jobs/$jobId" }).jobId);
  const { tab, item } = useSearch({ from: "/jobs/$jobId" });
  const navigate = useNavigate({ from: "/jobs/$jobId" });
  const found = useQuery({
    queryKey: ["job", jobId],
    queryFn: ({ signal }) => ask(api.GET("/api/jobs/{jobId}", { params: { path: { jobId } }, signal })),
  });
  if (found.isPending) return <Page title={`Job ${jobId}`}><Loading /></Page>;
  if (found.isError) return <Page title={`Job ${jobId}`}><Trouble error={found.error} /></Page>;
  const job = found.data;
  return (
    <Page title={job.name ?? `Job ${jobId}`}>
      <Tabs value={tab ?? "grid"} onChange={(to) => void navigate({ search: { tab: to === "pending" ? to : undefined } })} keepMounted={false}>
        <Tabs.List mb="sm">
          <Tabs.Tab value="grid">Grid</Tabs.Tab>
          <Tabs.Tab value="pending">Pending</Tabs.Tab>
        </Tabs.List>
        <Tabs.Panel value="grid"><GridTab job={job} /></Tabs.Panel>
        <Tabs.Panel value="pending"><PendingTab job={job} /></Tabs.Panel>
      </Tabs>
      {item !== undefined && <ItemDrawer itemId={item} onClose={() => void navigate({ search: (was) => ({ ...was, item: undefined }), replace: true })} />}
    </Page>
  );
}
