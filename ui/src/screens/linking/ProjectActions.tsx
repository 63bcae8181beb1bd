import { Button, Menu, Text } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { Ban, ChevronDown, Download, Play, Trash2 } from "lucide-react";
import { useState } from "react";
import { api, ask } from "~/api/client";
import { tellDone } from "~/api/queries";
import { Confirm } from "~/blocks/Confirm";
import { ExportDialog } from "~/blocks/ExportDialog";
import { count, many } from "~/blocks/wording";
import { Allowed } from "~/shell/Allowed";
import { useRefusal } from "~/shell/me";
import { ALL, useLinking, type Project } from "./projects";

type Scope = "new" | "unmatched" | "changed" | "failed" | "all";

export function ProjectActions({ project }: { project: Project }) {
  const [asking, setAsking] = useState<Scope | "cancel" | "delete" | "export" | null>(null);
  const navigate = useNavigate();
  const params = { path: { projectId: project.projectId } };
  const touches = [[...ALL], ["jobs"]];
  const match = useMutation({
    mutationFn: (scope: Scope) => ask(api.POST("/api/projects/{projectId}/match", { params, body: { scope } })),
    meta: { touches },
    onSuccess: (started) =>
      tellDone(started.records === 0 ? "No record had to be matched." : `${many(started.records, "record")} with ${many(started.queries, "name")} to search for.`),
  });
  const cancel = useMutation({
    mutationFn: () => ask(api.POST("/api/projects/{projectId}/cancel", { params })),
    meta: { touches },
    onSuccess: (done) => tellDone(`The run was stopped; ${many(done.cancelled, "record")} had not ended.`),
  });
  const remove = useMutation({
    mutationFn: () => ask(api.DELETE("/api/projects/{projectId}", { params })),
    meta: { touches: [[...ALL, "list"], ["jobs"]] },
    onSuccess: () => {
      tellDone(`${project.name} was deleted.`);
      void navigate({ to: "/linking" });
    },
  });
  const { counts, total } = project.progress;
  const fresh = (counts.NEW ?? 0) + (counts.CANCELLED ?? 0);
  return (
    <>
      {project.running ? (
        <Allowed role="operator" owner={project.owner}>
          <Button variant="default" leftSection={<Ban size={16} aria-hidden />} onClick={() => setAsking("cancel")}>
            Cancel the run
          </Button>
        </Allowed>
      ) : (
        <MatchMenu project={project} fresh={fresh} busy={match.isPending} onMatch={(scope) => (scope === "new" || scope === "failed" ? match.mutate(scope) : setAsking(scope))} />
      )}
      <Button variant="default" leftSection={<Download size={16} aria-hidden />} onClick={() => setAsking("export")}>
        Export
      </Button>
      <Allowed role="operator" owner={project.owner}>
        <Button variant="default" aria-label="Delete the project" onClick={() => setAsking("delete")}>
          <Trash2 size={16} aria-hidden />
        </Button>
      </Allowed>
      {asking === "cancel" && (
        <Confirm title="Cancel the run?" verb="Cancel the run" danger onConfirm={() => cancel.mutateAsync()} onClose={() => setAsking(null)}>
          {many(total - project.progress.ended, "record")} that have not ended become cancelled. What ended stays, and the next match takes the others again.
        </Confirm>
      )}
      {asking === "delete" && (
        <Confirm title={`Delete ${project.name}?`} verb="Delete the project" danger onConfirm={() => remove.mutateAsync()} onClose={() => setAsking(null)}>
          {many(total, "record")} with their candidates and decisions are gone for good. What the source answered stays cached for other projects.
        </Confirm>
      )}
      {asking === "export" && (
        <ExportDialog
          path={`/api/projects/${project.projectId}/export`}
          look={(signal) => ask(api.GET("/api/projects/{projectId}", { params, signal }))}
          rows={total}
          then="the match with its score, who decided and the note"
          json
          onClose={() => setAsking(null)}
        />
      )}
      {asking !== null && asking !== "cancel" && asking !== "delete" && asking !== "export" && (
        <Confirm title="Match again?" verb="Match again" onConfirm={() => match.mutateAsync(asking)} onClose={() => setAsking(null)}>
          {ASKED[asking](project)} What a person decided stays.
        </Confirm>
      )}
    </>
  );
}

const ASKED: Record<Scope, (project: Project) => string> = {
  new: () => "",
  failed: () => "",
  unmatched: ({ progress }) => `${many(progress.counts.NO_CANDIDATE ?? 0, "record")} without a candidate are searched again.`,
  changed: ({ progress }) => `Of ${many(progress.total, "record")} those are searched again for which something else is asked than before.`,
  all: ({ progress }) => `Up to ${many(progress.total, "record")} are searched again, as far as no person decided about them. Cached answers are used.`,
};

function MatchMenu({ project, fresh, busy, onMatch }: { project: Project; fresh: number; busy: boolean; onMatch: (scope: Scope) => void }) {
  const { counts } = project.progress;
  const refusal = useRefusal("operator", project.owner);
  const problem = useLinking().data?.sources.find((one) => one.name === project.source)?.problem ?? null;
  const button = (
    <Button variant={fresh > 0 ? "filled" : "default"} loading={busy} leftSection={<Play size={16} aria-hidden />} rightSection={<ChevronDown size={14} aria-hidden />}>
      Match
    </Button>
  );
  if (refusal ?? problem)
    return (
      <Allowed role="operator" owner={project.owner} unless={refusal ?? problem}>
        {button}
      </Allowed>
    );
  const items: [Scope, string, number | null][] = [
    ["new", "New and cancelled records", fresh],
    ["failed", "Failed records", counts.ERROR ?? 0],
    ["unmatched", "Records without a candidate", counts.NO_CANDIDATE ?? 0],
    ["changed", "Records for which something else is asked now", null],
    ["all", "All records again", null],
  ];
  return (
    <Menu position="bottom-end" width={300}>
      <Menu.Target>{button}</Menu.Target>
      <Menu.Dropdown>
        {items.map(([scope, name, number]) => (
          <Menu.Item key={scope} disabled={number === 0} onClick={() => onMatch(scope)} rightSection={number === null ? undefined : <Text size="xs">{count(number)}</Text>}>
            {name}
          </Menu.Item>
        ))}
      </Menu.Dropdown>
    </Menu>
  );
}
