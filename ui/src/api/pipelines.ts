import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { api, ask } from "./client";

/** The names to choose from, and the one that is chosen, even if no worker has declared it. */
export function usePipelineNames(chosen: string | undefined): string[] {
  const found = useQuery({
    queryKey: ["stages", "pipelines"],
    queryFn: ({ signal }) => ask(api.GET("/api/stages", { signal })),
    select: (stages) => [...new Set(stages.items.map((stage) => stage.pipeline))].sort(),
    staleTime: 300_000,
    placeholderData: keepPreviousData,
  });
  const names = found.data ?? [];
  return chosen === undefined || names.includes(chosen) ? names : [...names, chosen];
}

/** The pipelines that take files. They change with a deploy only. */
export function usePipelines() {
  return useQuery({
    queryKey: ["pipelines"],
    queryFn: ({ signal }) => ask(api.GET("/api/pipelines", { signal })),
    staleTime: 300_000,
  });
}
