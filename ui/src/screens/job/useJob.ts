import { useQuery } from "@tanstack/react-query";
import { api, ask, type Schemas } from "~/api/client";

export type JobDetail = Schemas["JobDetail"];

export function useJob(jobId: number | null) {
  return useQuery({
    queryKey: ["job", jobId],
    queryFn: ({ signal }) => ask(api.GET("/api/jobs/{jobId}", { params: { path: { jobId: jobId ?? 0 } }, signal })),
    enabled: jobId !== null,
    // How long until the next one is due is in the sentence of the cause.
    refetchInterval: (query) => (query.state.data?.nextDueAt ? 5000 : false),
  });
}
