// What the screens of one analysis ask. Keys begin with the job, so the live stream finds them.
import { queryOptions } from "@tanstack/react-query";
import { api, ask, type Schemas } from "~/api/client";

export const analysisQuery = (jobId: number) =>
  queryOptions({
    queryKey: ["job", jobId, "analysis"],
    queryFn: ({ signal }) => ask(api.GET("/api/analyses/{jobId}", { params: { path: { jobId } }, signal })),
  });

/** What every job has: rate, when it may end, who paused it. */
export const jobQuery = (jobId: number) =>
  queryOptions({
    queryKey: ["job", jobId, "of-analysis"],
    queryFn: ({ signal }) => ask(api.GET("/api/jobs/{jobId}", { params: { path: { jobId } }, signal })),
  });

export const siteQuery = (jobId: number, siteId: number) =>
  queryOptions({
    queryKey: ["job", jobId, "site", siteId],
    queryFn: ({ signal }) => ask(api.GET("/api/analyses/{jobId}/sites/{siteId}", { params: { path: { jobId, siteId } }, signal })),
  });

export const whyQuery = (jobId: number, siteId: number) =>
  queryOptions({
    queryKey: ["job", jobId, "site", siteId, "why"],
    queryFn: ({ signal }) => ask(api.GET("/api/tasks/{taskId}/why", { params: { path: { taskId: siteId } }, signal })),
  });

export const modelsQuery = queryOptions({
  queryKey: ["models"],
  queryFn: ({ signal }) => ask(api.GET("/api/models", { signal })),
});

export type ChosenOptions = { models: string[]; pages?: number; samples: number; prompts?: number; budget?: number; review: boolean };

/** What an analysis was sent with. Stored by whatever version took it, so it is read, not trusted. */
export function optionsOf(stored: Schemas["AnalysisBody"]["options"]): ChosenOptions {
  const number = (value: unknown) => (typeof value === "number" ? value : undefined);
  const { models, pages, samples, prompts, budget, review } = stored;
  return {
    models: Array.isArray(models) ? models.filter((one): one is string => typeof one === "string") : [],
    pages: number(pages),
    samples: number(samples) ?? 1,
    prompts: number(prompts),
    budget: number(budget),
    review: review === true,
  };
}
