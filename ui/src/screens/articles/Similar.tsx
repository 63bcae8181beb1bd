import { useQuery } from "@tanstack/react-query";
import { Stack } from "@mantine/core";
import { api, ask } from "~/api/client";
import { Empty } from "~/blocks/Empty";
import { Loading, Trouble } from "~/blocks/Trouble";
import { CoverageLine } from "./CoverageLine";
import { Hits } from "./Hits";
import { Notice } from "./Notice";

/** Articles that come near to this one in meaning. */
export function Similar({ slug }: { slug: string }) {
  const found = useQuery({
    queryKey: ["similar", slug],
    queryFn: ({ signal }) => ask(api.GET("/api/articles/{slug}/similar", { params: { path: { slug } }, signal })),
    staleTime: 0,
  });
  if (found.isPending) return <Loading />;
  if (found.isError) return <Trouble error={found.error} again={() => void found.refetch()} />;
  const { items, coverage, notice } = found.data;
  return (
    <Stack>
      <CoverageLine coverage={coverage} />
      {notice !== null && <Notice text={notice} />}
      {items.length === 0 ? (
        <Empty kind={coverage.indexed + coverage.stale > 1 ? "filtered" : "nothing"} title="Nothing comes near">
          {coverage.indexed + coverage.stale > 1 ? "No other article that you may see is like this one." : "More articles have to be indexed to compare with."}
        </Empty>
      ) : (
        <Hits items={items} />
      )}
    </Stack>
  );
}
