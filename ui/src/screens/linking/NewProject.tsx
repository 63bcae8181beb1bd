import { Alert, Button, FileButton, Group, Paper, Radio, Stack, Tabs, Text, Textarea, TextInput, Title } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { ClipboardPaste, FileUp, Info, Play, TriangleAlert } from "lucide-react";
import { useRef, useState } from "react";
import { api, ask } from "~/api/client";
import { tellProblem } from "~/api/queries";
import { DropZone } from "~/blocks/DropZone";
import { Page } from "~/blocks/Page";
import { Loading, Trouble } from "~/blocks/Trouble";
import { bytes, many } from "~/blocks/wording";
import { Allowed } from "~/shell/Allowed";
import { create, nameOf, pastedFile, preview, type Preview } from "./dataset";
import { changes, optionsOf, type Options } from "./options";
import { ALL, sourceName, useLinking, type Source } from "./projects";
import { refusal, type Roles } from "./roles";
import { OptionsForm, PreviewTable, RolesForm } from "./SetupForm";

const route = getRouteApi("/linking/new");
const EXAMPLE = "name,born,country\nAda Quillfeather,1815-12-10,Westmarch";

export function NewProject() {
  const [file, setFile] = useState<File | null>(null);
  const looked = useMutation({ mutationFn: preview, meta: { ownProblem: true, touches: [] } });
  function take(chosen: File): void {
    setFile(chosen);
    looked.mutate(chosen);
  }
  return (
    <Page title="New project" about="Bring names, say what the columns mean, and match them.">
      <Pick onFile={take} busy={looked.isPending} />
      {looked.isError && <Trouble error={looked.error} />}
      {looked.isPending && <Loading rows={4} />}
      {file && looked.data !== undefined && <Setup key={`${file.name}${file.lastModified}${file.size}`} file={file} seen={looked.data} />}
    </Page>
  );
}

function Pick({ onFile, busy }: { onFile: (file: File) => void; busy: boolean }) {
  const { from } = route.useSearch();
  const navigate = route.useNavigate();
  const [text, setText] = useState("");
  const reset = useRef<() => void>(null);
  function take([first]: Iterable<File>): void {
    if (first) onFile(first);
    // The same file may be chosen again after it was mended.
    reset.current?.();
  }
  return (
    <Tabs value={from ?? "file"} onChange={(tab) => void navigate({ search: tab === "paste" ? { from: "paste" } : {}, replace: true })}>
      <Tabs.List mb="sm">
        <Tabs.Tab value="file" leftSection={<FileUp size={14} aria-hidden />}>
          A file
        </Tabs.Tab>
        <Tabs.Tab value="paste" leftSection={<ClipboardPaste size={14} aria-hidden />}>
          Paste rows
        </Tabs.Tab>
      </Tabs.List>
      <Tabs.Panel value="file">
        <DropZone onFiles={take}>
          <FileUp size={28} strokeWidth={1.25} aria-hidden />
          <Text fw={600}>Drop a CSV, XLSX or JSON file here</Text>
          <Text size="sm" c="dimmed">
            Nothing is stored before you say so. The first row names the columns.
          </Text>
          <FileButton accept=".csv,.tsv,.txt,.xlsx,.json" resetRef={reset} onChange={(file) => file && take([file])}>
            {(props) => (
              <Button {...props} loading={busy}>
                Choose a file
              </Button>
            )}
          </FileButton>
        </DropZone>
      </Tabs.Panel>
      <Tabs.Panel value="paste">
        <Stack gap="xs">
          <Textarea
            label="Rows"
            description="With the names of the columns in the first row, as copied from a spreadsheet, as CSV, or a JSON list of objects."
            placeholder={EXAMPLE}
            autosize
            minRows={5}
            maxRows={14}
            value={text}
            onChange={(event) => setText(event.currentTarget.value)}
            styles={{ input: { fontFamily: "var(--mantine-font-family-monospace)", fontSize: "0.85rem" } }}
          />
          <Group>
            <Button disabled={text.trim() === ""} loading={busy} onClick={() => onFile(pastedFile(text))}>
              Look at the rows
            </Button>
          </Group>
        </Stack>
      </Tabs.Panel>
    </Tabs>
  );
}

function Setup({ file, seen }: { file: File; seen: Preview | null }) {
  const known = useLinking();
  if (known.isPending) return <Loading />;
  if (known.isError) return <Trouble error={known.error} again={() => void known.refetch()} />;
  return <SetupOf file={file} seen={seen} sources={known.data.sources} defaults={optionsOf(known.data.options)} />;
}

function SetupOf({ file, seen, sources, defaults }: { file: File; seen: Preview | null; sources: Source[]; defaults: Options }) {
  const navigate = route.useNavigate();
  const queries = useQueryClient();
  const guesses = Object.entries(seen?.roles ?? {});
  const guessed = Object.fromEntries(guesses.map(([column, { role, property }]) => [column, { role, property }]));
  const because = Object.fromEntries(guesses.map(([column, one]) => [column, `Guessed: ${one.because}.`]));
  const [name, setName] = useState(file.name.startsWith("pasted.") ? "Pasted rows" : nameOf(file));
  const [roles, setRoles] = useState<Roles>(guessed);
  const [touched, setTouched] = useState<string[]>([]);
  const [options, setOptions] = useState(defaults);
  const [source, setSource] = useState("wikidata");
  const chosen = sources.find((one) => one.name === source);
  const open = name.trim() === "" ? "Give the project a name." : seen && refusal(roles);
  const store = useMutation({
    mutationFn: async (match: boolean) => {
      const made = await create(file, { name, source, roles: seen ? roles : undefined, options: changes(options, defaults) });
      const params = { path: { projectId: made.projectId } };
      // The project is there, whatever becomes of its first run.
      if (match) await ask(api.POST("/api/projects/{projectId}/match", { params, body: { scope: "new" } })).catch(tellProblem);
      return made.projectId;
    },
    meta: { touches: [[...ALL]] },
    onSuccess: (projectId) => {
      void queries.invalidateQueries({ queryKey: ["jobs"] });
      void navigate({ to: "/linking/$projectId", params: { projectId: String(projectId) } });
    },
  });
  return (
    <Stack gap="lg" data-setup>
      <Text size="sm" className="stored">
        {[file.name, bytes(file.size), seen && many(seen.columns.length, "column")].filter(Boolean).join(", ")}
      </Text>
      {seen ? (
        <>
          <RolesForm
            columns={seen.columns}
            rows={seen.rows}
            roles={roles}
            because={Object.fromEntries(Object.entries(because).filter(([column]) => !touched.includes(column)))}
            onChange={(next) => {
              setTouched([...touched, ...seen.columns.filter((one) => JSON.stringify(next[one]) !== JSON.stringify(roles[one]))]);
              setRoles(next);
            }}
          />
          <PreviewTable columns={seen.columns} rows={seen.rows} more={seen.more} />
        </>
      ) : (
        <Alert color="blue" icon={<Info aria-hidden />} title="This file is too large for a look">
          You can store it all the same. Its columns are read as their names suggest; choose <b>Only store</b> to see that in Set-up, and to change it, before it is matched.
        </Alert>
      )}
      <SourcePick sources={sources} value={source} onChange={setSource} />
      <OptionsForm options={options} roles={roles} onChange={setOptions} />
      <Paper withBorder p="md">
        <Stack gap="sm">
          <TextInput label="Name of the project" maxLength={200} value={name} onChange={(event) => setName(event.currentTarget.value)} />
          {open && (
            <Text size="sm" role="status" className="stored">
              {open}
            </Text>
          )}
          <Group>
            <Allowed role="operator" unless={open ?? chosen?.problem ?? null}>
              <Button leftSection={<Play size={16} aria-hidden />} loading={store.isPending && store.variables} onClick={() => store.mutate(true)}>
                Store and match
              </Button>
            </Allowed>
            <Allowed role="operator" unless={open}>
              <Button variant="default" loading={store.isPending && !store.variables} onClick={() => store.mutate(false)}>
                Only store
              </Button>
            </Allowed>
          </Group>
        </Stack>
      </Paper>
    </Stack>
  );
}

function SourcePick({ sources, value, onChange }: { sources: Source[]; value: string; onChange: (source: string) => void }) {
  const chosen = sources.find((one) => one.name === value);
  return (
    <Stack gap="xs">
      <Title order={2}>Source</Title>
      <Radio.Group aria-label="Source" value={value} onChange={onChange}>
        <Stack gap={6}>
          {sources.map((one) => (
            <Radio
              key={one.name}
              value={one.name}
              label={sourceName(one.name)}
              description={<span className="stored">{one.problem === null ? `Ready: asks ${one.host ?? "its server"}.` : one.host ? `${one.host}; something is missing.` : "Not set up here."}</span>}
            />
          ))}
        </Stack>
      </Radio.Group>
      {chosen?.problem && (
        <Alert color="orange" icon={<TriangleAlert aria-hidden />} title="This source cannot be asked yet">
          <span className="stored">{chosen.problem}</span> You can store the project now and match it later.
        </Alert>
      )}
    </Stack>
  );
}
