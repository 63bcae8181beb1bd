import { useQuery } from "@tanstack/react-query";
import { api, ask, type Schemas } from "~/api/client";

export type JobDetail = Schemas["JobDetail"];

export function useJob(jobId: number | null) {
  return useQuery({
    queryKey: ["job", jobId],
    queryFn: ({ signal }) => ask(api.GET("/api/jobs/{jobId}", { params: { path: { jobId: jobId ?? 0 } }, signal })),
    enabled: jobId !== null,
  });
}
