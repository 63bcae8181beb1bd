import { useQuery, useQueryClient } from "@tanstack/react-query";
import { api, ask, type Schemas } from "~/api/client";
import { useLive } from "~/live/live";

export type ItemDetail = Schemas["Item"];
export type Status = Schemas["ItemBody"]["status"];

/** Everything about one item; fetched again when something of its job, or of its stage, moves. */
export function useItem(itemId: number) {
  const queries = useQueryClient();
  const found = useQuery({
    queryKey: ["item", itemId],
    queryFn: ({ signal }) => ask(api.GET("/api/tasks/{taskId}", { params: { path: { taskId: itemId } }, signal })),
  });
  const item = found.data;
  useLive((event) => {
    if (item === undefined) return;
    const concerns = event.kind === "job" ? event.jobId === item.jobId : event.kind === "stage" && item.jobId === null && event.stage.startsWith(item.pipeline);
    if (concerns) void queries.invalidateQueries({ queryKey: ["item", itemId] }, { cancelRefetch: false });
  });
  return found;
}

/** Which list the neighbours are looked for in. */
export type Among = { statuses?: Status[]; byTime?: boolean };

export function useNeighbours(item: ItemDetail | undefined, among: Among | undefined) {
  const jobId = item?.jobId ?? null;
  const statuses = among?.statuses?.join(",");
  const sort = statuses || among?.byTime ? "-updatedAt" : "row";
  // By time, the list on screen stands while an item moves to the front of it or leaves it: so do its neighbours.
  const stands = sort !== "row";
  const queries = useQueryClient();
  const keyOf = (itemId: number | null | undefined) => [stands ? "neighbours" : "item", itemId, "neighbours", statuses, sort];
  return useQuery({
    queryKey: keyOf(item?.itemId),
    ...(stands && { staleTime: "static" as const }),
    // A copy took the place of what was edited.
    initialData: () => (stands && item?.replaces ? queries.getQueryData<Schemas["Neighbours"]>(keyOf(item.replaces)) : undefined),
    queryFn: ({ signal }) =>
      ask(
        api.GET("/api/jobs/{jobId}/items/{itemId}/neighbours", {
          params: { path: { jobId: jobId ?? 0, itemId: item?.itemId ?? 0 }, query: { statuses, sort } },
          signal,
        }),
      ),
    enabled: jobId !== null && among !== undefined,
  }).data;
}
