import { useNavigate, useSearch } from "@tanstack/react-router";
import { useCallback, useMemo } from "react";
import { api, ask, type Schemas } from "~/api/client";
import { PendingList, type PendingSearch } from "./PendingList";

/** What of a job is still open. */
export function PendingTab({ job }: { job: Schemas["JobDetail"] }) {
  const { jobId } = job;
  const search = useSearch({ from: "/jobs/$jobId" });
  const navigate = useNavigate({ from: "/jobs/$jobId" });
  const onSearch = useCallback(
    (changes: PendingSearch) => {
      const { status, ...others } = changes;
      void navigate({ search: (was) => ({ ...was, ...others, pendingStatus: "status" in changes ? status : was.pendingStatus }), replace: true });
    },
    [navigate],
  );
  const askFor = useCallback(
    (query: { statuses: string; since?: string; until?: string; after?: string; before?: string; pageSize: number }, signal: AbortSignal) =>
      ask(api.GET("/api/jobs/{jobId}/items", { params: { path: { jobId }, query: { ...query, sort: "updatedAt" } }, signal })),
    [jobId],
  );
  const filter = useMemo(() => ({ jobId, userId: "me" as const }), [jobId]);
  return (
    <PendingList
      label={`What of job ${jobId} is open`}
      scope={`job ${jobId}`}
      ask={askFor}
      job={job}
      filter={filter}
      search={{ ...search, status: search.pendingStatus }}
      onSearch={onSearch}
      narrowed={false}
      onShowAll={() => onSearch({ status: undefined, since: undefined, until: undefined })}
    />
  );
}
