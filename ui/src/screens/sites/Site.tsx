import { Alert, Button, Card, Group, SimpleGrid, Stack, Tabs, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { ArrowLeft, Hand, Hourglass, RotateCcw, TriangleAlert } from "lucide-react";
import { lazy, Suspense, useState } from "react";
import type { Schemas } from "~/api/client";
import { GoTo, GoToButton } from "~/blocks/links";
import { Page } from "~/blocks/Page";
import { StateBadge } from "~/blocks/StateBadge";
import { Loading, Trouble } from "~/blocks/Trouble";
import { When } from "~/blocks/When";
import { count, moment } from "~/blocks/wording";
import { Allowed } from "~/shell/Allowed";
import { shortAddress } from "./addresses";
import { ReportMenu } from "./Analysis";
import { Approve } from "./Approve";
import { analysisQuery, optionsOf, siteQuery, whyQuery } from "./queries";
import { SITE_TABS } from "./routes";
import { RunAgain } from "./RunAgain";
import { StageChip } from "./siteColumns";
import { isOpen, needsApproval, notAgain, STAGE_NAMES, STAGE_WORDS, STAGES, type StageName } from "./stages";

const FactsTab = lazy(() => import("./FactsTab").then((part) => ({ default: part.FactsTab })));
const PromptsTab = lazy(() => import("./PromptsTab").then((part) => ({ default: part.PromptsTab })));
const AnswersTab = lazy(() => import("./AnswersTab").then((part) => ({ default: part.AnswersTab })));
const ScoresTab = lazy(() => import("./ScoresTab").then((part) => ({ default: part.ScoresTab })));
const ReportTab = lazy(() => import("./ReportTab").then((part) => ({ default: part.ReportTab })));

export type Detail = Schemas["SiteDetail"];
export type Analysis = Schemas["AnalysisDetail"];

const NAMES = { facts: "Facts", prompts: "Prompts", answers: "Answers", scores: "Scores", report: "Report" } as const;

export function Site() {
  const params = useParams({ from: "/sites/$jobId/$siteId" });
  const [jobId, siteId] = [Number(params.jobId), Number(params.siteId)];
  const found = useQuery(siteQuery(jobId, siteId));
  const analysis = useQuery(analysisQuery(jobId)).data;
  const site = found.data;
  if (!site || !analysis)
    return <Page title="Site">{found.isError ? <Trouble error={found.error} again={() => void found.refetch()} /> : <Loading />}</Page>;
  return (
    <Page
      title={site.facts?.name ?? shortAddress(site.url)}
      about={
        <Stack gap={2}>
          <Group gap="xs">
            <StateBadge state={site.state} />
            <span className="stored">{site.url}</span>
          </Group>
          <span>
            Site {siteId} of{" "}
            <GoTo to="/sites/$jobId" params={{ jobId: params.jobId }} underline="always" className="stored">
              {analysis.name ?? `analysis ${jobId}`}
            </GoTo>{" "}
            · changed <When at={site.updatedAt} />
          </span>
        </Stack>
      }
      actions={
        <>
          <GoToButton to="/sites/$jobId" params={{ jobId: params.jobId }} variant="default" leftSection={<ArrowLeft size={16} aria-hidden />}>
            All sites
          </GoToButton>
          <ReportMenu jobId={jobId} siteId={siteId} />
        </>
      }
    >
      <Standing site={site} analysis={analysis} />
      <StageCards site={site} analysis={analysis} />
      <SiteTabs site={site} analysis={analysis} />
    </Page>
  );
}

/** Why it failed, or what it waits for and until when. */
function Standing({ site, analysis }: { site: Detail; analysis: Analysis }) {
  const [approving, setApproving] = useState(false);
  const waits = site.state === "PENDING";
  const why = useQuery({ ...whyQuery(site.jobId, site.siteId), enabled: waits && !needsApproval(site) }).data;
  if (site.state === "ERROR")
    return (
      <Alert color="red" icon={<TriangleAlert aria-hidden />} title="The last run failed">
        <span className="stored">{site.error}</span>
      </Alert>
    );
  if (needsApproval(site))
    return (
      <Alert color="orange" icon={<Hand aria-hidden />} title="Its prompts wait for approval">
        <Group justify="space-between">
          <Text size="sm">Read and edit them first; no model is asked before.</Text>
          <Allowed role="operator" owner={analysis.owner}>
            <Button size="xs" onClick={() => setApproving(true)}>
              Approve
            </Button>
          </Allowed>
        </Group>
        {approving && (
          <Approve
            jobId={site.jobId}
            siteIds={[site.siteId]}
            budget={analysis.budget}
            options={optionsOf(analysis.options)}
            onClose={() => setApproving(false)}
          />
        )}
      </Alert>
    );
  if (!waits || !why) return null;
  return (
    <Alert color="gray" icon={<Hourglass aria-hidden />} title={why.sentence}>
      {why.until && <>Until {moment(why.until)}. </>}
      {why.nextStep}
    </Alert>
  );
}

/** Each stage with its state, its result's version and run, and the way to run it again. */
function StageCards({ site, analysis }: { site: Detail; analysis: Analysis }) {
  const [from, setFrom] = useState<StageName | null>(null);
  return (
    <>
      <SimpleGrid cols={{ base: 1, sm: 3 }}>
        {STAGES.map((stage, index) => {
          const made = site.stages.find((one) => one.stage === stage);
          return (
            <Card key={stage} withBorder padding="sm" data-stage={stage}>
              <Stack gap={6} justify="space-between" h="100%">
                <Group justify="space-between" gap={4}>
                  <Text fw={600} size="sm">
                    {STAGE_NAMES[stage]}
                  </Text>
                  <StageChip site={site} index={index} />
                </Group>
                <Text size="xs" c="dimmed" className="stored">
                  {made ? (
                    <>
                      Run {made.run}
                      {made.reusedFrom !== null && `, taken over from run ${made.reusedFrom}`} · <When at={made.at} />
                      {site.stage === stage && site.attempts > 1 && ` · ${count(site.attempts)} attempts`}
                    </>
                  ) : (
                    `It ${STAGE_WORDS[stage]}.`
                  )}
                </Text>
                <Allowed role="operator" owner={analysis.owner} unless={notAgain([site])}>
                  <Button size="compact-xs" variant="default" leftSection={<RotateCcw size={12} aria-hidden />} onClick={() => setFrom(stage)}>
                    Run again from here
                  </Button>
                </Allowed>
              </Stack>
            </Card>
          );
        })}
      </SimpleGrid>
      {from && <RunAgain jobId={site.jobId} siteIds={[site.siteId]} statuses={["DONE", "ERROR", "NOT_FOUND", "SKIPPED", "CANCELLED"]} number={1} from={from} onClose={() => setFrom(null)} />}
    </>
  );
}

function SiteTabs({ site, analysis }: { site: Detail; analysis: Analysis }) {
  const { tab } = useSearch({ from: "/sites/$jobId/$siteId" });
  const navigate = useNavigate({ from: "/sites/$jobId/$siteId" });
  return (
    <Tabs
      value={tab ?? "facts"}
      onChange={(value) => void navigate({ search: { tab: SITE_TABS.find((one) => one === value) } })}
      keepMounted={false}
      activateTabWithKeyboard={false}
    >
      <Tabs.List>
        {Object.entries(NAMES).map(([value, name]) => (
          <Tabs.Tab key={value} value={value}>
            {name}
            {value === "prompts" && site.prompts.length > 0 && ` ${count((site.nextPrompts ?? site.prompts).length)}`}
            {value === "answers" && site.answers.length > 0 && ` ${count(site.answers.length)}`}
          </Tabs.Tab>
        ))}
      </Tabs.List>
      <Suspense fallback={<Loading />}>
        <Tabs.Panel value="facts" pt="md">
          <FactsTab site={site} />
        </Tabs.Panel>
        <Tabs.Panel value="prompts" pt="md">
          <PromptsTab site={site} analysis={analysis} />
        </Tabs.Panel>
        <Tabs.Panel value="answers" pt="md">
          <AnswersTab site={site} analysis={analysis} />
        </Tabs.Panel>
        <Tabs.Panel value="scores" pt="md">
          <ScoresTab site={site} />
        </Tabs.Panel>
        <Tabs.Panel value="report" pt="md">
          <ReportTab site={site} />
        </Tabs.Panel>
      </Suspense>
    </Tabs>
  );
}

/** Instead of what a stage has not found yet. */
export function notYet(site: Detail, what: string): string {
  return isOpen(site) ? `${what} come when the stage is done; this page shows them by itself.` : `The site ended before there were any. Run it again from a stage above.`;
}
