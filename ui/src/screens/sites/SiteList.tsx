import { Alert, Button, Group, SegmentedControl, Stack, Text } from "@mantine/core";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { Hand, RefreshCw, RotateCcw } from "lucide-react";
import { useCallback, useLayoutEffect, useMemo, useRef, useState } from "react";
import { api, ask, type Schemas } from "~/api/client";
import { Empty } from "~/blocks/Empty";
import { Loading, Trouble } from "~/blocks/Trouble";
import { count, many } from "~/blocks/wording";
import { Grid } from "~/grid/Grid";
import { useKnownRows } from "~/grid/useKnownRows";
import { useWindow, type FetchPage, type GridWindow } from "~/grid/useWindow";
import { Allowed } from "~/shell/Allowed";
import { Approve } from "./Approve";
import { optionsOf } from "./queries";
import { SITE_SHOWN } from "./routes";
import { RunAgain } from "./RunAgain";
import { siteColumns } from "./siteColumns";
import { isOpen, needsApproval, type StageName } from "./stages";
import { usePicking } from "./usePicking";

type Site = Schemas["SiteBody"];
type Detail = Schemas["AnalysisDetail"];
type Shown = (typeof SITE_SHOWN)[number];
type Deed = { again: { from: StageName; sites: Site[] | "all" } } | { approve: Site[] | "all" };

const STATUSES: Record<Shown, string> = { open: "PENDING,PROCESSING", failed: "ERROR", done: "DONE,NOT_FOUND,SKIPPED,CANCELLED" };
const ENDED: Record<Shown | "all", Schemas["RerunBody"]["statuses"]> = {
  all: ["DONE", "ERROR", "NOT_FOUND", "SKIPPED", "CANCELLED"],
  open: null,
  failed: ["ERROR"],
  done: ["DONE", "NOT_FOUND", "SKIPPED", "CANCELLED"],
};
const idOf = (site: Site) => site.siteId;
const differs = (was: Site, now: Site) => JSON.stringify(was) !== JSON.stringify(now);

async function sitesNow(jobId: number, ids: number[]): Promise<Map<number, Site>> {
  const now = await ask(api.GET("/api/analyses/{jobId}/sites/now", { params: { path: { jobId }, query: { ids: ids.join(",") } } }));
  return new Map(now.items.map((site) => [idOf(site), site]));
}

/** Its sites, however many, in the order they were given; those in some state: what changed last first. */
export function SiteList({ analysis }: { analysis: Detail }) {
  const { jobId } = analysis;
  const { show } = useSearch({ from: "/sites/$jobId" });
  const navigate = useNavigate();
  const [deed, setDeed] = useState<Deed | null>(null);
  const statuses = show && STATUSES[show];

  const held = useRef<GridWindow<Site> | null>(null);
  const { fresh, see, loaded } = useKnownRows<Site>({ grid: held, idOf, concerns: (changed) => changed === jobId, fetchNow: (ids) => sitesNow(jobId, ids), differs });
  const fetchPage = useCallback<FetchPage<Site>>(
    async (where, pageSize, signal) => {
      const began = performance.now();
      const page = await ask(api.GET("/api/analyses/{jobId}/sites", { params: { path: { jobId }, query: { ...where, pageSize, statuses } }, signal }));
      loaded(page.items.map(idOf), began);
      return { ...page, more: (where.before ? page.previousCursor : page.nextCursor) !== null };
    },
    [jobId, statuses, loaded],
  );
  const list = useWindow({ listKey: `${jobId} ${statuses ?? ""}`, fetchPage, idOf });
  useLayoutEffect(() => {
    held.current = list;
  });
  const { rows, restart } = list;

  const shown = shownCount(analysis, show);
  const [began, setBegan] = useState({ statuses, shown });
  if (began.statuses !== statuses) setBegan({ statuses, shown });
  const moved = show !== undefined && began.shown !== shown;

  const picking = usePicking(rows, idOf, `${jobId} ${statuses ?? ""}`);
  const picked = picking.all ? "all" : picking.rows;
  const columns = useMemo(() => siteColumns(jobId, (site, from) => setDeed({ again: { from, sites: [site] } })), [jobId]);
  const nothing = rows.length === 0 && !list.cold;
  return (
    <Stack gap="sm">
      <Group justify="space-between">
        <SegmentedControl
          size="xs"
          aria-label="Which sites"
          value={show ?? "all"}
          onChange={(value) => void navigate({ to: "/sites/$jobId", params: { jobId: String(jobId) }, search: { show: SITE_SHOWN.find((one) => one === value) } })}
          data={[
            { value: "all", label: `All ${count(analysis.totalSites)}` },
            { value: "open", label: `Open ${count(shownCount(analysis, "open"))}` },
            { value: "failed", label: `Failed ${count(analysis.counts.error)}` },
            { value: "done", label: `Ended ${count(shownCount(analysis, "done"))}` },
          ]}
        />
        {moved && (
          <Button
            size="compact-sm"
            radius="xl"
            leftSection={<RefreshCw size={14} aria-hidden />}
            onClick={() => {
              setBegan({ statuses, shown });
              restart();
            }}
          >
            Changed since: show {count(shown)}
          </Button>
        )}
      </Group>
      {picking.some && (
        <Picked
          analysis={analysis}
          number={picking.all ? shown : picking.rows.length}
          sites={picked}
          onAgain={(from) => setDeed({ again: { from, sites: picked } })}
          onApprove={() => setDeed({ approve: picked })}
          onClear={picking.clear}
        />
      )}
      {list.cold ? (
        list.error ? (
          <Trouble error={list.error} again={restart} />
        ) : (
          <Loading />
        )
      ) : nothing ? (
        <Empty kind={show ? "filtered" : "nothing"} title={show ? "No site is in this state now" : "No sites"}>
          {show && `The analysis has ${many(analysis.totalSites, "site")} in other states.`}
        </Empty>
      ) : (
        <Grid
          label="Sites"
          rows={rows}
          columns={columns}
          idOf={idOf}
          total={shown}
          picking={picking}
          onOpen={(site) => void navigate({ to: "/sites/$jobId/$siteId", params: { jobId: String(jobId), siteId: String(site.siteId) } })}
          first={list.first}
          last={list.last}
          onMore={list.more}
          onVisible={see}
          fresh={fresh}
          height={`min(60vh, ${Math.max(3, shown) * 36 + 60}px)`}
        />
      )}
      {deed && "again" in deed && (
        <Again analysis={analysis} show={show} {...deed.again} onClose={() => setDeed(null)} onStarted={picking.clear} />
      )}
      {deed && "approve" in deed && (
        <Approve
          jobId={jobId}
          siteIds={deed.approve === "all" ? undefined : deed.approve.filter(needsApproval).map(idOf)}
          budget={analysis.budget}
          options={optionsOf(analysis.options)}
          onClose={() => setDeed(null)}
        />
      )}
    </Stack>
  );
}

type PickedProps = {
  analysis: Detail;
  number: number;
  sites: Site[] | "all";
  onAgain: (from: StageName) => void;
  onApprove: () => void;
  onClear: () => void;
};

function Picked({ analysis, number, sites, onAgain, onApprove, onClear }: PickedProps) {
  const { owner } = analysis;
  const ended = sites === "all" ? analysis.counts.pending + analysis.counts.processing < analysis.totalSites : sites.some((site) => !isOpen(site));
  const waiting = sites === "all" ? analysis.waitsForApproval : sites.some(needsApproval);
  return (
    <Alert color="blue" p="xs" role="region" aria-label="Selected sites">
      <Group justify="space-between" gap="xs">
        <Text size="sm">{sites === "all" ? `All ${many(number, "site")} of this list selected` : `${many(number, "site")} selected`}</Text>
        <Group gap="xs">
          <Allowed role="operator" owner={owner} unless={ended ? null : "None of these has ended yet. Only what has ended can run again."}>
            <Button size="xs" variant="default" leftSection={<RotateCcw size={14} aria-hidden />} onClick={() => onAgain("website-analysis")}>
              Run again
            </Button>
          </Allowed>
          <Allowed role="operator" owner={owner} unless={waiting ? null : "None of these waits for approval."}>
            <Button size="xs" variant="default" leftSection={<Hand size={14} aria-hidden />} onClick={onApprove}>
              Approve
            </Button>
          </Allowed>
          <Button size="xs" variant="subtle" onClick={onClear}>
            Select none
          </Button>
        </Group>
      </Group>
    </Alert>
  );
}

type AgainProps = { analysis: Detail; show: Shown | undefined; from: StageName; sites: Site[] | "all"; onClose: () => void; onStarted: () => void };

function Again({ analysis, show, from, sites, onClose, onStarted }: AgainProps) {
  const common = { jobId: analysis.jobId, from, onClose, onStarted };
  if (sites === "all") {
    const open = analysis.counts.pending + analysis.counts.processing;
    const number = show ? shownCount(analysis, show) : analysis.totalSites - open;
    return <RunAgain {...common} statuses={ENDED[show ?? "all"]} number={number} leftOut={show ? 0 : open} />;
  }
  const ended = sites.filter((site) => !isOpen(site));
  return <RunAgain {...common} siteIds={ended.map(idOf)} statuses={ENDED.all} number={ended.length} leftOut={sites.length - ended.length} />;
}

function shownCount({ counts, totalSites }: Detail, show: Shown | undefined): number {
  if (show === undefined) return totalSites;
  if (show === "open") return counts.pending + counts.processing;
  if (show === "failed") return counts.error;
  return counts.done + counts.notFound + counts.skipped + counts.cancelled;
}
