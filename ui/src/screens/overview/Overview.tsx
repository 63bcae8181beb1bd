import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { lazy, Suspense } from "react";
import { api, ask } from "~/api/client";
import { Page } from "~/blocks/Page";
import { Part } from "~/blocks/Part";
import { Loading, Trouble } from "~/blocks/Trouble";
import { RATES_MS, useHistory } from "~/screens/running/history";
import { Applications } from "./Applications";
import { AttentionList } from "./AttentionList";
import { FirstSteps } from "./FirstSteps";
import { NewestJobs } from "./NewestJobs";
import { Tiles } from "./Tiles";

const route = getRouteApi("/");
const HistoryCharts = lazy(() => import("~/screens/running/HistoryCharts").then((found) => ({ default: found.HistoryCharts })));
const RangeSwitch = lazy(() => import("~/screens/running/HistoryCharts").then((found) => ({ default: found.RangeSwitch })));

export function Overview() {
  const { minutes } = route.useSearch();
  const navigate = route.useNavigate();
  const seen = useQuery({ queryKey: ["overview"], queryFn: ({ signal }) => ask(api.GET("/api/overview", { signal })), refetchInterval: RATES_MS });
  const hour = useHistory(60);
  if (seen.isPending || seen.isError)
    return <Page title="Overview">{seen.isPending ? <Loading /> : <Trouble error={seen.error} again={() => void seen.refetch()} />}</Page>;
  const points = hour.data?.points ?? [];
  return (
    <Page title="Overview">
      {seen.data.newestJobs.length === 0 && <FirstSteps />}
      <AttentionList attention={seen.data.attention} />
      <Tiles totals={seen.data.totals} points={points} />
      <Part
        title="How it went"
        actions={
          <Suspense>
            <RangeSwitch minutes={minutes} onChange={(next) => void navigate({ search: { minutes: next }, replace: true })} />
          </Suspense>
        }
      >
        <Suspense fallback={<Loading rows={4} />}>
          <HistoryCharts minutes={minutes} />
        </Suspense>
      </Part>
      <Applications stages={seen.data.stages} jobs={seen.data.newestJobs} />
      {seen.data.newestJobs.length > 0 && (
        <Part title="Your newest jobs">
          <NewestJobs jobs={seen.data.newestJobs} />
        </Part>
      )}
    </Page>
  );
}
