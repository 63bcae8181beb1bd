import { Stack, Tabs } from "@mantine/core";
import { getRouteApi } from "@tanstack/react-router";
import { lazy, Suspense } from "react";
import { number } from "~/address";
import { GoTo } from "~/blocks/links";
import { Page } from "~/blocks/Page";
import { Loading, Trouble } from "~/blocks/Trouble";
import { When } from "~/blocks/When";
import { GridTab } from "./GridTab";
import { JobActions } from "./JobActions";
import { JobNotices } from "./JobNotices";
import { JobSummary } from "./JobSummary";
import { OPEN, TABS } from "./routes";
import { useJob, type JobDetail } from "./useJob";

const route = getRouteApi("/jobs/$jobId");

// Fetched when somebody looks: whoever comes for the rows does not wait for charts.
const PendingTab = lazy(() => import("./PendingTab").then((module) => ({ default: module.PendingTab })));
const SettingsTab = lazy(() => import("./SettingsTab").then((module) => ({ default: module.SettingsTab })));
const TimelineTab = lazy(() => import("./TimelineTab").then((module) => ({ default: module.TimelineTab })));
const ItemDrawer = lazy(() => import("./ItemDrawer").then((module) => ({ default: module.ItemDrawer })));

export function Job() {
  const { jobId } = route.useParams();
  const found = useJob(number(jobId) ?? 0);
  if (found.data) return <Shown job={found.data} />;
  return (
    <Page title={`Job ${jobId}`}>
      {found.isPending ? (
        <Loading />
      ) : (
        <>
          <Trouble error={found.error} again={() => void found.refetch()} />
          <GoTo to="/jobs">All jobs</GoTo>
        </>
      )}
    </Page>
  );
}

function Shown({ job }: { job: JobDetail }) {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const tab = search.tab ?? "grid";
  const open = (item: number | undefined) => void navigate({ search: (was) => ({ ...was, item }), replace: item === undefined || search.item !== undefined });
  return (
    <Page
      title={job.name ?? `Job ${job.jobId}`}
      about={
        <span className="stored">
          Job {job.jobId} · {job.pipeline}
          {job.fileName && job.fileName !== job.name && ` · ${job.fileName}`}
          {job.owner && ` · ${job.owner}`} · <When at={job.createdAt} />
        </span>
      }
      actions={<JobActions job={job} />}
    >
      <Stack gap="md">
        <JobSummary job={job} />
        <JobNotices job={job} />
        <Tabs
          value={tab}
          keepMounted={false}
          onChange={(chosen) => void navigate({ search: (was) => ({ ...was, tab: TABS.find((one) => one === chosen), item: undefined }) })}
        >
          <Tabs.List mb="sm">
            <Tabs.Tab value="grid">Grid</Tabs.Tab>
            <Tabs.Tab value="pending">Pending</Tabs.Tab>
            <Tabs.Tab value="timeline">Timeline</Tabs.Tab>
            <Tabs.Tab value="settings">Settings</Tabs.Tab>
          </Tabs.List>
          <Suspense fallback={<Loading />}>
            <Tabs.Panel value="grid">
              <GridTab job={job} />
            </Tabs.Panel>
            <Tabs.Panel value="pending">
              <PendingTab job={job} />
            </Tabs.Panel>
            <Tabs.Panel value="timeline">
              <TimelineTab job={job} />
            </Tabs.Panel>
            <Tabs.Panel value="settings">
              <SettingsTab job={job} />
            </Tabs.Panel>
          </Suspense>
        </Tabs>
      </Stack>
      {search.item !== undefined && (
        <Suspense>
          <ItemDrawer
            itemId={search.item}
            onClose={() => open(undefined)}
            onGo={open}
            among={tab === "pending" ? { statuses: search.pendingStatus ?? [...OPEN] } : { statuses: search.status, byTime: search.sort === "updated" }}
          />
        </Suspense>
      )}
    </Page>
  );
}
