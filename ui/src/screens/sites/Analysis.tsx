import { Alert, Button, Card, Group, Menu, SimpleGrid, Stack, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import { CirclePause, Download, FileText, Hand, ListChecks } from "lucide-react";
import { useState } from "react";
import type { Schemas } from "~/api/client";
import { fetchFile } from "~/api/files";
import { tellProblem } from "~/api/queries";
import { GoToButton } from "~/blocks/links";
import { Page } from "~/blocks/Page";
import { StateBadge } from "~/blocks/StateBadge";
import { Loading, Trouble } from "~/blocks/Trouble";
import { When } from "~/blocks/When";
import { count, duration, many, percent, rate } from "~/blocks/wording";
import { Allowed } from "~/shell/Allowed";
import { Approve } from "./Approve";
import { cost } from "./estimate";
import { analysisQuery, jobQuery, optionsOf } from "./queries";
import { SiteList } from "./SiteList";
import { StageProgress } from "./StageProgress";

type Detail = Schemas["AnalysisDetail"];

export function Analysis() {
  const jobId = Number(useParams({ from: "/sites/$jobId" }).jobId);
  const found = useQuery(analysisQuery(jobId));
  const analysis = found.data;
  if (!analysis)
    return <Page title="Analysis">{found.isError ? <Trouble error={found.error} again={() => void found.refetch()} /> : <Loading />}</Page>;
  return (
    <Page
      title={analysis.name ?? `Analysis ${jobId}`}
      about={
        <Group gap="xs">
          <StateBadge state={analysis.queueState} />
          <span>
            {many(analysis.totalSites, "site")} · added <When at={analysis.createdAt} />
            {analysis.owner && ` by ${analysis.owner}`}
          </span>
        </Group>
      }
      actions={
        <>
          <GoToButton to="/jobs/$jobId" params={{ jobId: String(jobId) }} variant="default" leftSection={<ListChecks size={16} aria-hidden />}>
            Job
          </GoToButton>
          <ReportMenu jobId={jobId} />
        </>
      }
    >
      <Waiting analysis={analysis} />
      <Totals analysis={analysis} />
      <SiteList analysis={analysis} />
    </Page>
  );
}

/** What holds it up, and what somebody can do about it. */
function Waiting({ analysis }: { analysis: Detail }) {
  const [approving, setApproving] = useState(false);
  const job = useQuery(jobQuery(analysis.jobId));
  // A worker that looks for the approval holds the site for a moment.
  const waiting = Math.max(analysis.steps.at(-1)?.waiting ?? 0, 1);
  return (
    <>
      {analysis.waitsForApproval && (
        <Alert color="orange" icon={<Hand aria-hidden />} title={`${many(waiting, "site waits", "sites wait")} for approval`}>
          <Group justify="space-between">
            <Text size="sm">Their prompts are formed. No model is asked before somebody approves them.</Text>
            <Allowed role="operator" owner={analysis.owner}>
              <Button size="xs" onClick={() => setApproving(true)}>
                Approve all that wait
              </Button>
            </Allowed>
          </Group>
        </Alert>
      )}
      {analysis.queueState === "PAUSED" && job.data && (
        <Alert color="orange" icon={<CirclePause aria-hidden />} title={`Paused by ${job.data.pausedBy ?? "somebody"}`}>
          <span className="stored">{job.data.pauseReason ?? "No reason was given."}</span> Resume it on the page of its job.
        </Alert>
      )}
      {approving && <Approve jobId={analysis.jobId} budget={analysis.budget} options={optionsOf(analysis.options)} onClose={() => setApproving(false)} />}
    </>
  );
}

function Totals({ analysis }: { analysis: Detail }) {
  const job = useQuery(jobQuery(analysis.jobId)).data;
  const { counts, budget } = analysis;
  const options = optionsOf(analysis.options);
  const open = counts.pending + counts.processing;
  const most = budget?.most ?? options.budget;
  return (
    <SimpleGrid cols={{ base: 1, md: 2 }}>
      <Card withBorder>
        <Stack gap="xs">
          <StageProgress steps={analysis.steps} total={analysis.totalSites} />
          <Text size="sm" c="dimmed">
            {percent(analysis.progress)} behind it: {count(counts.done)} done, {count(counts.error)} failed, {count(open)} open
            {counts.cancelled > 0 && `, ${count(counts.cancelled)} cancelled`}.
            {open > 0 && job?.etaSeconds != null && ` About ${duration(job.etaSeconds)} left at ${rate(job.perSecond)}.`}
          </Text>
        </Stack>
      </Card>
      <Card withBorder>
        <Stack gap={4}>
          <Text size="sm">
            <b>Spent</b> <span className="numbers">{budget ? cost(budget.spent) : "0"}</span>
            {most !== undefined && ` of ${cost(most)}`}
            {budget && budget.reserved > 0 && `, ${cost(budget.reserved)} held for calls under way`}
          </Text>
          <Text size="sm" className="stored">
            <b>Models</b> {options.models.join(", ") || "–"}
          </Text>
          <Text size="sm" c="dimmed">
            {[
              options.pages !== undefined && `${many(options.pages, "page")} beside the start page`,
              options.prompts !== undefined && `${many(options.prompts, "prompt")} per site`,
              `${many(options.samples, "answer")} per prompt and model`,
              options.review && "approval first",
            ]
              .filter(Boolean)
              .join(" · ")}
          </Text>
        </Stack>
      </Card>
    </SimpleGrid>
  );
}

const FORMATS = [
  ["html", "Web page (HTML)"],
  ["md", "Markdown"],
  ["json", "JSON"],
  ["csv", "CSV"],
] as const;

/** The report to keep, of all sites or of one. */
export function ReportMenu({ jobId, siteId }: { jobId: number; siteId?: number }) {
  const address = `/api/analyses/${jobId}/report?${siteId === undefined ? "" : `siteId=${siteId}&`}`;
  return (
    <Menu>
      <Menu.Target>
        <Button variant="default" leftSection={<Download size={16} aria-hidden />}>
          Report
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Item component="a" href={`${address}format=html`} target="_blank" rel="noopener" leftSection={<FileText size={14} aria-hidden />}>
          Open in a new tab
        </Menu.Item>
        {FORMATS.map(([format, name]) => (
          <Menu.Item
            key={format}
            leftSection={<Download size={14} aria-hidden />}
            onClick={() => void fetchFile(`${address}format=${format}&download=true`).catch(tellProblem)}
          >
            {name}
          </Menu.Item>
        ))}
      </Menu.Dropdown>
    </Menu>
  );
}
