import { Group, Paper, Stack, Tabs, Text } from "@mantine/core";
import { getRouteApi } from "@tanstack/react-router";
import { Eye } from "lucide-react";
import { lazy, Suspense, useState } from "react";
import { GoTo, GoToButton } from "~/blocks/links";
import { Page } from "~/blocks/Page";
import { Loading, Trouble } from "~/blocks/Trouble";
import { When } from "~/blocks/When";
import { count } from "~/blocks/wording";
import { ProjectActions } from "./ProjectActions";
import { sourceName, useFollowed, useProject, type Project as ProjectDetail } from "./projects";
import { RecordDrawer } from "./RecordDrawer";
import { RecordsTab } from "./RecordsTab";
import { Failures, Pace, ProjectBar, ProjectState } from "./Standing";

const ScoresTab = lazy(() => import("./ScoresTab").then((found) => ({ default: found.ScoresTab })));
const SetupTab = lazy(() => import("./SetupTab").then((found) => ({ default: found.SetupTab })));
const route = getRouteApi("/linking/$projectId");

export function Project() {
  const projectId = Number(route.useParams().projectId);
  const found = useProject(projectId);
  // Jobs that this tab started beside the run of the project, e.g. a ranking.
  const [jobs, setJobs] = useState<number[]>([]);
  useFollowed(projectId, [found.data?.jobId, ...jobs]);
  if (found.isPending)
    return (
      <Page title="Project">
        <Loading />
      </Page>
    );
  if (found.isError)
    return (
      <Page title="Project">
        <Trouble error={found.error} again={() => void found.refetch()} />
      </Page>
    );
  return <Known project={found.data} updatedAt={found.dataUpdatedAt} onJob={(job) => setJobs((was) => [...was, job])} />;
}

function Known({ project, updatedAt, onJob }: { project: ProjectDetail; updatedAt: number; onJob: (job: number) => void }) {
  const { tab, record } = route.useSearch();
  const navigate = route.useNavigate();
  const waiting = project.progress.counts.REVIEW ?? 0;
  const params = { projectId: String(project.projectId) };
  return (
    <Page
      title={project.name}
      about={
        <Group gap="xs" component="span">
          <GoTo to="/linking">Linking</GoTo>
          <span className="stored">
            · {sourceName(project.source)} · of {project.owner} · changed <When at={project.updatedAt} />
          </span>
        </Group>
      }
      actions={<ProjectActions project={project} />}
    >
      <Paper withBorder p="sm">
        <Stack gap="xs">
          <Group justify="space-between">
            <Group gap="xs">
              <ProjectState project={project} />
              {project.jobId !== null && (
                <GoTo size="sm" to="/jobs/$jobId" params={{ jobId: String(project.jobId) }}>
                  Job {project.jobId}
                </GoTo>
              )}
            </Group>
            {waiting > 0 && (
              <GoToButton to="/linking/$projectId/review" params={params} size="sm" leftSection={<Eye size={16} aria-hidden />}>
                Review {count(waiting)}
              </GoToButton>
            )}
          </Group>
          <ProjectBar project={project} />
          <Pace project={project} />
        </Stack>
      </Paper>
      <Failures project={project} />
      <Tabs
        value={tab ?? "records"}
        keepMounted={false}
        onChange={(value) => void navigate({ search: value === "scores" || value === "setup" ? { tab: value } : {} })}
      >
        <Tabs.List mb="sm">
          <Tabs.Tab value="records">Records</Tabs.Tab>
          <Tabs.Tab value="scores">Scores</Tabs.Tab>
          <Tabs.Tab value="setup">Set-up</Tabs.Tab>
        </Tabs.List>
        <Tabs.Panel value="records">
          <RecordsTab project={project} updatedAt={updatedAt} />
        </Tabs.Panel>
        <Suspense fallback={<Loading />}>
          <Tabs.Panel value="scores">
            <ScoresTab project={project} />
          </Tabs.Panel>
          <Tabs.Panel value="setup">
            <SetupTab key={project.projectId} project={project} onJob={onJob} />
          </Tabs.Panel>
        </Suspense>
      </Tabs>
      {project.progress.total === 0 && <Text c="dimmed">This project has no records.</Text>}
      {record !== undefined && (
        <RecordDrawer
          key={record}
          project={project}
          number={record}
          onClose={() => void navigate({ search: (was) => ({ ...was, record: undefined }), replace: true })}
        />
      )}
    </Page>
  );
}
