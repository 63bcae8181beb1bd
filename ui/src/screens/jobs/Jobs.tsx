import { Box, Button, Group, Select, TextInput } from "@mantine/core";
import { useDebouncedCallback } from "@mantine/hooks";
import { useInfiniteQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { Search, Upload } from "lucide-react";
import { useState } from "react";
import { api, ask, type Schemas } from "~/api/client";
import { usePipelineNames } from "~/api/pipelines";
import { Empty } from "~/blocks/Empty";
import { Everybodys } from "~/blocks/Everybodys";
import { GoToButton } from "~/blocks/links";
import { NewPill } from "~/blocks/NewPill";
import { Page } from "~/blocks/Page";
import { Loading, Trouble } from "~/blocks/Trouble";
import { stateWord } from "~/blocks/wording";
import { useStanding } from "~/grid/useStanding";
import { useMe, useWhose, VIEWERS } from "~/shell/me";
import { JobTable } from "./JobTable";
import { JOB_STATES } from "./routes";
import { Allowed } from "~/shell/Allowed";

type Job = Schemas["JobBody"];
type State = Job["queueState"];
type Filters = { state?: State; pipeline?: string; q?: string; everybody?: true };

const route = getRouteApi("/jobs");
const idOf = (job: Job) => job.jobId;

export function Jobs() {
  const filters = route.useSearch();
  const found = useJobs(filters);
  const filtered = Boolean(filters.state || filters.pipeline || filters.q);
  return (
    <Page
      title="Jobs"
      about={filters.everybody ? "What everybody submitted, newest first." : "What you submitted, newest first."}
      actions={
        <Allowed role="operator">
          <GoToButton to="/upload" leftSection={<Upload size={16} aria-hidden />}>
            Upload
          </GoToButton>
        </Allowed>
      }
    >
      <FilterBar filters={filters} />
      {found.cold ? (
        <Loading />
      ) : found.error ? (
        <Trouble error={found.error} again={found.again} />
      ) : found.rows.length === 0 && found.waiting === 0 ? (
        <NothingHere filtered={filtered} more={found.more} />
      ) : (
        <>
          <NewPill waiting={found.waiting} onShow={found.showNew} />
          <JobTable jobs={found.rows} everybody={filters.everybody} />
        </>
      )}
      {found.more && (
        <Group justify="center">
          <Button variant="default" loading={found.busy} onClick={found.more}>
            {filtered ? "Look further" : "Show more"}
          </Button>
        </Group>
      )}
    </Page>
  );
}

function useJobs(filters: Filters) {
  const { state, pipeline, q } = filters;
  const userId = useWhose(filters.everybody);
  const key = JSON.stringify([state, pipeline, q, userId]);
  const found = useInfiniteQuery({
    queryKey: ["jobs", "list", state, pipeline, q, userId],
    queryFn: ({ pageParam, signal }) =>
      ask(
        api.GET("/api/jobs", {
          params: { query: { state, pipeline, q, userId, after: pageParam } },
          signal,
        }),
      ),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (last) => last.nextCursor ?? undefined,
  });

  const { rows, waiting, showNew } = useStanding(found, key, idOf);
  return {
    rows,
    waiting,
    cold: found.isPending,
    busy: found.isFetchingNextPage,
    error: found.data ? null : found.error,
    again: () => void found.refetch(),
    more: found.hasNextPage ? () => void found.fetchNextPage() : undefined,
    showNew,
  };
}

function FilterBar({ filters }: { filters: Filters }) {
  const navigate = route.useNavigate();
  const [word, setWord] = useState(filters.q ?? "");
  const change = (changed: Filters) => void navigate({ search: (was) => ({ ...was, ...changed }), replace: true });
  const search = useDebouncedCallback((q: string) => change({ q: q || undefined }), 250);
  // The word also changes from outside: a link, the way back, "Show all".
  const [seen, setSeen] = useState(filters.q);
  if (seen !== filters.q) {
    setSeen(filters.q);
    if ((filters.q ?? "") !== word.trim()) setWord(filters.q ?? "");
  }
  const pipelines = usePipelineNames(filters.pipeline);
  return (
    <Group gap="sm" align="flex-end">
      <TextInput
        label="Name"
        placeholder="A word of the name or file"
        leftSection={<Search size={14} aria-hidden />}
        value={word}
        maxLength={200}
        onChange={(event) => {
          setWord(event.currentTarget.value);
          search(event.currentTarget.value.trim());
        }}
        w={{ base: "100%", xs: 240 }}
      />
      <Select
        label="State"
        placeholder="All"
        clearable
        clearButtonProps={{ "aria-label": "All states" }}
        data={JOB_STATES.map((state) => ({ value: state, label: stateWord(state) }))}
        value={filters.state ?? null}
        onChange={(state) => change({ state: (state as State | null) ?? undefined })}
        flex="1 1 140px"
        maw={180}
      />
      <Select
        label="Pipeline"
        placeholder="All"
        clearable
        clearButtonProps={{ "aria-label": "All pipelines" }}
        searchable
        data={pipelines}
        value={filters.pipeline ?? null}
        onChange={(pipeline) => change({ pipeline: pipeline ?? undefined })}
        flex="1 1 140px"
        maw={220}
      />
      <Box pb={8}>
        <Everybodys checked={filters.everybody} onChange={(everybody) => change({ everybody })} />
      </Box>
    </Group>
  );
}

function NothingHere({ filtered, more }: { filtered: boolean; more?: () => void }) {
  const viewer = useMe().role === "viewer";
  if (!filtered && viewer)
    return (
      <Empty kind="nothing" title="No jobs">
        {VIEWERS}
      </Empty>
    );
  if (!filtered)
    return (
      <Empty
        kind="nothing"
        title="No jobs yet"
        action={
          <GoToButton to="/upload" leftSection={<Upload size={16} aria-hidden />}>
            Upload a file
          </GoToButton>
        }
      >
        A job is a file or a list of rows that is worked on. Upload one, and its rows appear here as they are stored.
      </Empty>
    );
  return (
    <Empty
      kind="filtered"
      title="No job matches"
      action={
        <GoToButton to="/jobs" variant="default">
          Show all jobs
        </GoToButton>
      }
    >
      {more ? "None of the newest jobs does; older ones were not looked at yet." : "Your jobs are there; the filters hide them."}
    </Empty>
  );
}
