import { Button, Group, NativeSelect, Stack, Text, TextInput, Title } from "@mantine/core";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { Upload as UploadIcon, X } from "lucide-react";
import { useState } from "react";
import type { Schemas } from "~/api/client";
import { usePipelines } from "~/api/pipelines";
import { Loading, Trouble } from "~/blocks/Trouble";
import { bytes, count, many } from "~/blocks/wording";
import { Allowed } from "~/shell/Allowed";
import { forget, type Chosen } from "./chosen";
import { HowToRead } from "./HowToRead";
import { OptionsForm } from "./OptionsForm";
import { Pictures } from "./Pictures";
import { PreviewTable } from "./PreviewTable";
import { Problems } from "./Problems";
import { fetchPreview, submission, type Preview, type Reading } from "./reading";
import { given, type Roles } from "./roles";
import { send } from "./sending";

const route = getRouteApi("/upload");

/** Between choosing a file and sending it: what is in it, what it becomes, what is wrong with it. */
export function Prepare({ chosen }: { chosen: Chosen }) {
  const { files, number } = chosen;
  const reading: Reading = route.useSearch();
  const navigate = route.useNavigate();
  const [roles, setRoles] = useState<Roles | null>(null);
  const [options, setOptions] = useState<Record<string, unknown>>({});
  const [name, setName] = useState("");
  const { pipeline, encoding, delimiter, header, sheet } = reading;

  const pipelines = usePipelines();
  const preview = useQuery({
    queryKey: ["preview", number, pipeline, encoding, delimiter, header, sheet, roles],
    queryFn: ({ signal }) => fetchPreview(files, { pipeline, encoding, delimiter, header, sheet }, roles, signal),
    staleTime: Infinity,
    placeholderData: keepPreviousData,
  });

  function read(part: Partial<Reading>): void {
    setRoles(null);
    void navigate({ search: (was) => ({ ...was, ...part }), replace: true });
  }
  function leave(): void {
    void navigate({ search: (was) => ({ pipeline: was.pipeline }), replace: true });
    forget();
  }

  const found = preview.data;
  const chosenName = pipeline ?? found?.pipeline ?? undefined;
  const fitting = pipelines.data && found && pipelinesFor(pipelines.data.items, found, chosenName);
  const definition = pipelines.data?.items.find((one) => one.name === chosenName);
  const size = files.reduce((sum, file) => sum + file.size, 0);
  const shownName = files.length === 1 ? files[0]?.name : `${many(files.length, "file")}`;

  function start(): void {
    const all = { ...options, ...(roles ? { roles } : {}) };
    send(shownName ?? "The file", submission(files, { ...reading, pipeline: chosenName }, all, name));
  }

  return (
    <Stack gap="md">
      <Group justify="space-between" align="flex-start">
        <div>
          <Title order={2} size="h3" className="stored">
            {shownName}
          </Title>
          <Text size="sm" c="dimmed" className="numbers">
            {[found && kindWord(found.kind), bytes(size), found && amount(found)].filter(Boolean).join(" · ")}
          </Text>
        </div>
        <Group gap="xs">
          <Button variant="default" leftSection={<X size={14} aria-hidden />} onClick={leave}>
            Another file
          </Button>
          <Allowed role="operator" unless={notYet(preview.isPending, preview.error, found, chosenName, fitting)}>
            <Button leftSection={<UploadIcon size={14} aria-hidden />} onClick={start}>
              {found?.rowsEstimate ? `Upload ${amount(found)}` : "Upload"}
            </Button>
          </Allowed>
        </Group>
      </Group>
      {preview.isPending ? (
        <Loading />
      ) : preview.isError ? (
        <Trouble error={preview.error} again={() => void preview.refetch()} />
      ) : (
        found && (
          <Stack gap="md" aria-busy={preview.isPlaceholderData} data-preview={preview.isPlaceholderData ? "old" : "fresh"}>
            <Group align="flex-end" gap="sm">
              <PipelineSelect fitting={fitting ?? []} value={chosenName} onChange={(value) => read({ pipeline: value })} />
              <TextInput label="Name of the job" placeholder={shownName} maxLength={200} value={name} onChange={(event) => setName(event.currentTarget.value)} />
              <HowToRead found={found} reading={reading} onChange={read} />
            </Group>
            {definition && (
              <Text size="sm" c="dimmed">
                {definition.about}
              </Text>
            )}
            {definition && definition.options.length > 0 && <OptionsForm options={definition.options} values={options} onChange={setOptions} />}
            <Problems found={found} />
            {found.columns.length > 0 && (
              <PreviewTable found={found} roles={definition?.roles ?? []} onRole={(column, role) => setRoles(given(found.columns, column, role, definition?.roles ?? []))} />
            )}
            {isPictures(found) && <Pictures files={files} found={found} />}
          </Stack>
        )
      )}
    </Stack>
  );
}

function PipelineSelect({ fitting, value, onChange }: { fitting: Schemas["PipelineItem"][]; value?: string; onChange: (value: string) => void }) {
  return (
    <NativeSelect
      label="Pipeline"
      value={value ?? ""}
      onChange={(event) => onChange(event.currentTarget.value)}
      data={[...(value === undefined ? [{ value: "", label: fitting.length > 0 ? "Choose" : "None takes this file", disabled: true }] : []), ...fitting.map((one) => one.name)]}
    />
  );
}

function isPictures(found: Preview): boolean {
  return found.kind === "image" || found.kind === "zip";
}

function pipelinesFor(list: Schemas["PipelineItem"][], found: Preview, chosen: string | undefined): Schemas["PipelineItem"][] {
  return list.filter((one) => (isPictures(found) ? one.takesImages : one.takesRows) || one.name === chosen);
}

function notYet(pending: boolean, error: unknown, found: Preview | undefined, pipeline: string | undefined, fitting: Schemas["PipelineItem"][] | undefined): string | null {
  if (pending) return "The file is being looked at.";
  if (error) return "The file could not be looked at.";
  if (pipeline === undefined && found && fitting?.length === 0) return `No pipeline of this application takes ${isPictures(found) ? "images" : "rows of files"}.`;
  if (pipeline === undefined) return "Choose a pipeline.";
  const blocking = found?.problems.find((one) => one.blocks);
  return blocking ? blocking.sentence : null;
}

function kindWord(kind: Preview["kind"]): string | null {
  return kind === null ? null : { csv: "CSV", xlsx: "Workbook", zip: "Zip of images", image: "Images" }[kind];
}

function amount(found: Preview): string | null {
  if (found.rowsEstimate === null) return null;
  const word = isPictures(found) ? "image" : "row";
  return found.rowsExact ? many(found.rowsEstimate, word) : `${count(found.rowsEstimate, true)} ${word}s`;
}
