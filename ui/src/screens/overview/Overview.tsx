import { useQuery } from "@tanstack/react-query";
import { api, ask } from "~/api/client";
import { Page } from "~/blocks/Page";
import { Loading, Trouble } from "~/blocks/Trouble";

export function Overview() {
  const seen = useQuery({ queryKey: ["overview"], queryFn: ({ signal }) => ask(api.GET("/api/overview", { signal })) });
  return (
    <Page title="Overview">
      {seen.isPending ? <Loading /> : seen.isError ? <Trouble error={seen.error} again={() => void seen.refetch()} /> : <p>{seen.data.database}</p>}
    </Page>
  );
}
