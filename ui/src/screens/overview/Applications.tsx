import { Group, Paper, SimpleGrid, Text, Title } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Boxes, FileText, Globe, Link2, type LucideIcon } from "lucide-react";
import type { ReactElement, ReactNode } from "react";
import { api, ask, type Schemas } from "~/api/client";
import { GoTo } from "~/blocks/links";
import { Part } from "~/blocks/Part";
import { StateBadge } from "~/blocks/StateBadge";
import { count, many } from "~/blocks/wording";
import { useRefusal } from "~/shell/me";
import { useInstalled } from "~/shell/visible";
import classes from "./overview.module.css";

type Stage = Schemas["StageItem"];
type Load = { running: number; waiting: number; failed: number };

/** Of an application's own pipeline and those that help it, which are called like it: "articles", "articles.watch". */
function loadOf(stages: Stage[], pipeline: string): Load {
  const own = stages.filter((stage) => stage.pipeline === pipeline || stage.pipeline.startsWith(`${pipeline}.`));
  return own.reduce(
    (sum, stage) => ({
      running: sum.running + stage.running,
      waiting: sum.waiting + stage.waiting,
      failed: sum.failed + stage.failedLastHour,
    }),
    { running: 0, waiting: 0, failed: 0 },
  );
}

/** What each application has, what of it runs, what failed. Every card asks its own list, so one that fails hides no other. */
export function Applications({ stages, jobs }: { stages: Stage[]; jobs: Schemas["JobBody"][] }) {
  const newest = jobs.find((job) => job.pipeline === "catalogue");
  const [catalogues, sites, linking, articles] = [useInstalled("/catalogues"), useInstalled("/sites"), useInstalled("/linking"), useInstalled("/articles")];
  if (!catalogues && !sites && !linking && !articles) return null;
  return (
    <Part title="Applications">
      <SimpleGrid cols={{ base: 1, xs: 2, lg: 4 }} spacing="sm">
        {catalogues && (
          <Card name="Catalogues" icon={Boxes} title={<GoTo to="/catalogues">Catalogues</GoTo>} load={loadOf(stages, "catalogue")}>
            {newest ? (
              <GoTo to="/jobs/$jobId" params={{ jobId: String(newest.jobId) }} className="stored">
                {newest.name || newest.fileName || `Job ${newest.jobId}`}
              </GoTo>
            ) : (
              <Invitation>
                <GoTo to="/upload" search={{ pipeline: "catalogue" }}>
                  Upload a product list
                </GoTo>
              </Invitation>
            )}
          </Card>
        )}
        {sites && (
          <Card name="Sites" icon={Globe} title={<GoTo to="/sites">Sites</GoTo>} load={loadOf(stages, "sites")}>
            <Sites />
          </Card>
        )}
        {linking && (
          <Card name="Linking" icon={Link2} title={<GoTo to="/linking">Linking</GoTo>} load={loadOf(stages, "linking")}>
            <Linking />
          </Card>
        )}
        {articles && (
          <Card name="Articles" icon={FileText} title={<GoTo to="/articles">Articles</GoTo>} load={loadOf(stages, "articles")}>
            <Articles />
          </Card>
        )}
      </SimpleGrid>
    </Part>
  );
}

type CardProps = { name: string; icon: LucideIcon; title: ReactElement; load: Load; children: ReactNode };

function Card({ name, icon: Icon, title, load, children }: CardProps) {
  return (
    <Paper withBorder p="sm" className={classes.card} data-application={name}>
      <Group gap="xs" wrap="nowrap">
        <Icon size={18} aria-hidden />
        <Title order={3}>{title}</Title>
      </Group>
      <Text size="sm" component="div" className="stored">
        {children}
      </Text>
      <Group gap="xs">
        {load.running + load.waiting > 0 ? (
          <>
            {load.running > 0 && <StateBadge state="RUNNING" word={`${count(load.running)} taken by workers`} />}
            {load.waiting > 0 && <StateBadge state="PENDING" word={`${count(load.waiting)} waiting`} />}
          </>
        ) : (
          <Text size="xs" c="dimmed">
            Nothing runs.
          </Text>
        )}
        {load.failed > 0 && <StateBadge state="FAILED" word={`${count(load.failed)} failed, 1 h`} />}
      </Group>
    </Paper>
  );
}

function Sites() {
  const found = useQuery({
    queryKey: ["jobs", "overview", "analyses"],
    queryFn: ({ signal }) => ask(api.GET("/api/analyses", { params: { query: { pageSize: 1 } }, signal })),
  });
  const newest = found.data?.items[0];
  if (!newest)
    return (
      <Nothing of={found}>
        <GoTo to="/sites" search={{ add: true }}>
          Analyse a website
        </GoTo>
      </Nothing>
    );
  return (
    <>
      <GoTo to="/sites/$jobId" params={{ jobId: String(newest.jobId) }}>
        {newest.name || `Analysis ${newest.jobId}`}
      </GoTo>
      , {many(newest.totalSites, "site")}
    </>
  );
}

function Linking() {
  const found = useQuery({
    queryKey: ["object", "project", "overview"],
    queryFn: ({ signal }) => ask(api.GET("/api/projects", { params: { query: { pageSize: 1 } }, signal })),
  });
  const newest = found.data?.items[0];
  if (!newest)
    return (
      <Nothing of={found}>
        <GoTo to="/linking/new">Link a dataset</GoTo>
      </Nothing>
    );
  return (
    <>
      <GoTo to="/linking/$projectId" params={{ projectId: String(newest.projectId) }}>
        {newest.name}
      </GoTo>
      {newest.running && ", being matched"}
    </>
  );
}

function Articles() {
  const found = useQuery({
    queryKey: ["object", "article", "overview"],
    queryFn: ({ signal }) => ask(api.GET("/api/article-index", { signal })),
  });
  const coverage = found.data?.coverage;
  if (!coverage || coverage.total === 0)
    return (
      <Nothing of={found}>
        <GoTo to="/articles/new">Write an article</GoTo>
      </Nothing>
    );
  return (
    <>
      {many(coverage.total, "article")}, {count(coverage.indexed)} <GoTo to="/index" underline="always">indexed</GoTo>
    </>
  );
}

/** Until it is known, and where it cannot be, nothing is claimed. */
function Nothing({ of, children }: { of: { isPending: boolean; isError: boolean }; children: ReactNode }) {
  if (of.isPending) return <>…</>;
  if (of.isError) return <>This could not be fetched.</>;
  return <Invitation>{children}</Invitation>;
}

/** To the first step, of whoever may take it. */
function Invitation({ children }: { children: ReactNode }) {
  return useRefusal("operator") === null ? children : "Nothing yet.";
}
