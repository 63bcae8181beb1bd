import { Button, Group, Paper, SimpleGrid, Skeleton, Stack, Text } from "@mantine/core";
import { useInfiniteQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { Eye, Plus } from "lucide-react";
import { api, ask, type Schemas } from "~/api/client";
import { Empty } from "~/blocks/Empty";
import { Everybodys } from "~/blocks/Everybodys";
import { GoTo, GoToButton } from "~/blocks/links";
import { NewPill } from "~/blocks/NewPill";
import { Page } from "~/blocks/Page";
import { Loading, Trouble } from "~/blocks/Trouble";
import { When } from "~/blocks/When";
import { count } from "~/blocks/wording";
import { useStanding } from "~/grid/useStanding";
import { Allowed } from "~/shell/Allowed";
import { useWhose } from "~/shell/me";
import { ALL, sourceName, useFollowed, useProject } from "./projects";
import { Pace, ProjectBar, ProjectState } from "./Standing";

const route = getRouteApi("/linking");
const PAGE = 20;
const idOf = (project: Schemas["ProjectBody"]) => project.projectId;

export function Projects() {
  const { everybody } = route.useSearch();
  const userId = useWhose(everybody);
  const navigate = route.useNavigate();
  const found = useInfiniteQuery({
    queryKey: [...ALL, "list", userId],
    queryFn: ({ pageParam, signal }) =>
      ask(api.GET("/api/projects", { params: { query: { pageSize: PAGE, after: pageParam, userId } }, signal })),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (last) => last.nextCursor ?? undefined,
  });
  const { rows: projects, waiting, showNew } = useStanding(found, userId, idOf);
  const make = (
    <Allowed role="operator">
      <GoToButton to="/linking/new" leftSection={<Plus size={16} aria-hidden />}>
        New project
      </GoToButton>
    </Allowed>
  );
  return (
    <Page title="Linking" about="Rows with names, matched with entities of Wikidata or another source." actions={make}>
      <Everybodys checked={everybody} onChange={(chosen) => void navigate({ search: { everybody: chosen } })} />
      {found.isPending ? (
        <Loading />
      ) : found.isError && !found.data ? (
        <Trouble error={found.error} again={() => void found.refetch()} />
      ) : projects.length === 0 ? (
        <Empty kind="nothing" title="No projects yet">
          A project is a list of names, such as people or towns. Bring it as a file or paste it, say what its columns mean, and match it.
        </Empty>
      ) : (
        <>
          <NewPill waiting={waiting} onShow={showNew} />
          <Stack gap="sm" component="ul" p={0} m={0} style={{ listStyle: "none" }} aria-label="Projects">
            {projects.map((one) => (
              <Row key={one.projectId} listed={one} withOwner={userId === "all"} />
            ))}
            {found.hasNextPage && (
              <Group justify="center" component="li">
                <Button variant="default" loading={found.isFetchingNextPage} onClick={() => void found.fetchNextPage()}>
                  Show more
                </Button>
              </Group>
            )}
          </Stack>
        </>
      )}
    </Page>
  );
}

/** The list comes at once; the counts of each project follow. */
function Row({ listed, withOwner }: { listed: Schemas["ProjectBody"]; withOwner: boolean }) {
  const { projectId } = listed;
  const project = useProject(projectId).data;
  useFollowed(projectId, [listed.jobId, project?.jobId]);
  const params = { projectId: String(projectId) };
  const waiting = project?.progress.counts.REVIEW ?? 0;
  return (
    <Paper withBorder p="sm" component="li" data-project={projectId}>
      <SimpleGrid cols={{ base: 1, sm: 2 }} spacing="md" verticalSpacing="xs">
        <Stack gap={4} miw={0} align="flex-start">
          <GoTo to="/linking/$projectId" params={params} fw={600} className="stored">
            {listed.name}
          </GoTo>
          <Text size="xs" c="dimmed" className="stored">
            {sourceName(listed.source)} · changed <When at={listed.updatedAt} />
            {withOwner ? ` · of ${listed.owner}` : ""}
          </Text>
          <Group gap="xs">
            {project && <ProjectState project={project} />}
            {waiting > 0 && (
              <GoToButton to="/linking/$projectId/review" params={params} size="compact-xs" variant="default" leftSection={<Eye size={12} aria-hidden />}>
                Review {count(waiting)}
              </GoToButton>
            )}
          </Group>
        </Stack>
        <Stack gap={4} justify="center">
          {project ? <ProjectBar project={project} /> : <Skeleton height={16} />}
          {project && <Pace project={project} />}
        </Stack>
      </SimpleGrid>
    </Paper>
  );
}
