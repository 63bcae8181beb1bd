// What the screens of linking ask the service.
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef } from "react";
import { api, ask, type Schemas } from "~/api/client";
import { useLive } from "~/live/live";

export type Project = Schemas["ProjectDetail"];
export type LinkRecord = Schemas["RecordBody"];
export type RecordDetail = Schemas["RecordDetail"];
export type Candidate = Schemas["Candidate"];
export type RecordState = LinkRecord["state"];
export type Source = Schemas["LinkingSource"];

export const ALL = ["object", "project"] as const;
export const keyOf = (projectId: number) => [...ALL, projectId] as const;
export const recordKey = (projectId: number, number: number) => [...keyOf(projectId), "record", number] as const;

// While a run waits, e.g. because the source asked for a pause, nothing happens that the stream could tell; but the reason
// counts down.
const WAITING_MS = 5000;

export function useProject(projectId: number) {
  return useQuery({
    queryKey: [...keyOf(projectId), "detail"],
    queryFn: ({ signal }) => ask(api.GET("/api/projects/{projectId}", { params: { path: { projectId } }, signal })),
    refetchInterval: (query) => (query.state.data?.running ? WAITING_MS : false),
  });
}

export function useLinking() {
  return useQuery({ queryKey: ["linking"], queryFn: ({ signal }) => ask(api.GET("/api/linking", { signal })), staleTime: 60_000 });
}

/** The address that an id of this project's source goes behind. */
export function usePages(source: string): string | null {
  return useLinking().data?.sources.find((one) => one.name === source)?.pages ?? null;
}

export function recordQuery(projectId: number, number: number) {
  return {
    queryKey: recordKey(projectId, number),
    queryFn: ({ signal }: { signal: AbortSignal }) =>
      ask(api.GET("/api/projects/{projectId}/records/{number}", { params: { path: { projectId, number } }, signal })),
    // Others review, too: what was fetched ahead is shown at once, and asked again when somebody comes to it.
    staleTime: 5000,
  };
}

const LIVE_MS = 1000;

/** A project follows the jobs that work on it, at most once a second: its counts are exact. */
export function useFollowed(projectId: number, jobs: (number | null | undefined)[]): void {
  const queries = useQueryClient();
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  useEffect(() => () => clearTimeout(timer.current), []);
  useLive((event) => {
    if (event.kind !== "job" || !jobs.includes(event.jobId)) return;
    timer.current ??= setTimeout(() => {
      timer.current = undefined;
      void queries.invalidateQueries({ queryKey: keyOf(projectId) }, { cancelRefetch: false });
    }, LIVE_MS);
  });
}

export function sourceName(source: string): string {
  return source === "wikidata" ? "Wikidata" : source === "reconciliation" ? "Reconciliation service" : source;
}
