import { Alert, Button, Group, Stack, Text, TextInput } from "@mantine/core";
import { useMutation, useQuery } from "@tanstack/react-query";
import { Info, ListRestart, Save } from "lucide-react";
import { useState } from "react";
import { api, ask } from "~/api/client";
import { tellDone } from "~/api/queries";
import { Confirm } from "~/blocks/Confirm";
import { count, many } from "~/blocks/wording";
import { Allowed } from "~/shell/Allowed";
import { useRefusal } from "~/shell/me";
import { changes, isEmpty, optionsOf } from "./options";
import { keyOf, type Project } from "./projects";
import { refusal, type Roles } from "./roles";
import { OptionsForm, RolesForm } from "./SetupForm";

const SAMPLE = 20;

export function SetupTab({ project, onJob }: { project: Project; onJob: (job: number) => void }) {
  const { projectId } = project;
  const before = optionsOf(project.options);
  const [name, setName] = useState(project.name);
  const [roles, setRoles] = useState<Roles>(project.roles);
  const [options, setOptions] = useState(before);
  const [asking, setAsking] = useState(false);
  const params = { path: { projectId } };
  const touches = [[...keyOf(projectId)], ["object", "project", "list"]];
  const readOnly = useRefusal("operator", project.owner) !== null;
  const sample = useQuery({
    queryKey: [...keyOf(projectId), "sample"],
    queryFn: ({ signal }) => ask(api.GET("/api/projects/{projectId}/records", { params: { ...params, query: { pageSize: SAMPLE } }, signal })),
    staleTime: Infinity,
  });
  const changed = changes(options, before);
  const renamed = name.trim() !== project.name;
  const reread = JSON.stringify(roles) !== JSON.stringify(project.roles);
  const open = name.trim() === "" ? "Give the project a name." : refusal(roles);
  const same = !renamed && !reread && isEmpty(changed);

  const store = () =>
    ask(
      api.PATCH("/api/projects/{projectId}", {
        params,
        body: { ...(renamed && { name: name.trim() }), ...(reread && { roles }), ...(!isEmpty(changed) && { options: changed }) },
      }),
    );
  const save = useMutation({
    mutationFn: store,
    meta: { touches },
    onSuccess: () => tellDone("Stored. Rank again, or match what changed, to make use of it."),
  });
  const rerank = useMutation({
    mutationFn: async () => {
      if (!same) await store();
      return ask(api.POST("/api/projects/{projectId}/rerank", { params }));
    },
    meta: { touches: [...touches, ["jobs"]] },
    onSuccess: (done) => {
      if (done.jobId !== null) onJob(done.jobId);
    },
  });
  const decided = (project.progress.counts.ACCEPTED ?? 0) + (project.progress.counts.REVIEW ?? 0) + (project.progress.counts.NO_CANDIDATE ?? 0);
  return (
    <Stack gap="lg">
      <TextInput label="Name of the project" maxLength={200} disabled={readOnly} value={name} onChange={(event) => setName(event.currentTarget.value)} />
      <RolesForm columns={project.columns} rows={sample.data?.items.map((one) => one.cells) ?? []} roles={roles} disabled={readOnly} onChange={setRoles} />
      <OptionsForm options={options} roles={roles} disabled={readOnly} onChange={setOptions} />
      {rerank.data && (
        <Alert color={rerank.data.left > 0 ? "orange" : "green"} icon={<Info aria-hidden />} title={`${many(rerank.data.records, "record")} ranked again`} role="status">
          {rerank.data.left === 0
            ? "From what the source answered before; nobody was asked."
            : `${count(rerank.data.left)} stay as they are: what would be asked for them now is not in the cache. Match all records again to ask.`}
        </Alert>
      )}
      {open && (
        <Text size="sm" role="status" className="stored">
          {open}
        </Text>
      )}
      <Group>
        <Allowed role="operator" owner={project.owner} unless={open ?? (same ? "Nothing was changed." : null)}>
          <Button leftSection={<Save size={16} aria-hidden />} loading={save.isPending} onClick={() => save.mutate()}>
            Store
          </Button>
        </Allowed>
        <Allowed role="operator" owner={project.owner} unless={open}>
          <Button variant="default" leftSection={<ListRestart size={16} aria-hidden />} loading={rerank.isPending} onClick={() => setAsking(true)}>
            {same ? "Rank again" : "Store and rank again"}
          </Button>
        </Allowed>
      </Group>
      {asking && (
        <Confirm title="Rank again?" verb="Rank again" onConfirm={() => rerank.mutateAsync()} onClose={() => setAsking(false)}>
          Up to {many(decided, "record")} get new scores from what the source answered before; it is not asked. Records may be accepted, or wait for review, that did not before. What people decided stays.
        </Confirm>
      )}
    </Stack>
  );
}
