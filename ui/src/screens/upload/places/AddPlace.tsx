import { Alert, Button, Group, Modal, NativeSelect, NumberInput, Stack, TextInput } from "@mantine/core";
import { useMutation, useQuery } from "@tanstack/react-query";
import { useState, type FormEvent } from "react";
import { api, ask, type Schemas } from "~/api/client";
import { tellDone } from "~/api/queries";

type Body = Schemas["SourceBody"];
type Kind = Body["kind"];
type Field = [keyof Schemas["PlaceParts"], string, boolean];

const KINDS: { value: Kind; label: string }[] = [
  { value: "folder", label: "A folder of the server" },
  { value: "s3", label: "A bucket (S3)" },
  { value: "ftp", label: "An FTP server" },
];
const FIELDS: Record<Kind, Field[]> = {
  folder: [["path", "Folder", true]],
  s3: [
    ["bucket", "Bucket", true],
    ["prefix", "Below", false],
    ["endpoint", "Endpoint", false],
    ["region", "Region", false],
  ],
  ftp: [
    ["host", "Host", true],
    ["path", "Folder", false],
  ],
};

export function AddPlace({ onClose }: { onClose: () => void }) {
  const pipelines = useQuery({ queryKey: ["pipelines"], queryFn: ({ signal }) => ask(api.GET("/api/pipelines", { signal })), staleTime: 300_000 });
  const names = pipelines.data?.items.map((one) => one.name) ?? [];
  const [kind, setKind] = useState<Kind>("folder");
  const [texts, setTexts] = useState<Record<string, string>>({});
  const [stable, setStable] = useState(5);
  const [after, setAfter] = useState<NonNullable<Body["after"]>>("keep");
  const set = (name: string) => (event: { currentTarget: { value: string } }) => {
    const { value } = event.currentTarget;
    setTexts((was) => ({ ...was, [name]: value }));
  };
  const given = (name: string) => texts[name]?.trim() || undefined;
  const add = useMutation({
    mutationFn: (body: Body) => ask(api.POST("/api/ingestion/sources", { body })),
    meta: { touches: [["jobs", "places"]], ownProblem: true },
    onSuccess: (made) => {
      tellDone(`${made.name} is watched. Test it to see what is there.`);
      onClose();
    },
  });

  function submit(event: FormEvent): void {
    event.preventDefault();
    const parts = Object.fromEntries(FIELDS[kind].map(([name]) => [name, given(name)]).filter(([, value]) => value !== undefined));
    add.mutate({
      name: given("name") ?? "",
      kind,
      place: parts as Schemas["PlaceParts"],
      pipeline: given("pipeline") ?? names[0] ?? "",
      owner: given("owner") ?? null,
      pattern: given("pattern") ?? "*",
      options: {},
      after,
      target: after === "move" ? (given("target") ?? null) : null,
      stableSeconds: stable,
      userEnv: given("userEnv") ?? null,
      secretEnv: given("secretEnv") ?? null,
      enabled: true,
    });
  }

  return (
    <Modal opened onClose={onClose} title="Watch a place" size="lg" closeButtonProps={{ "aria-label": "Close" }}>
      <form onSubmit={submit}>
        <Stack gap="sm">
          <TextInput label="Name" description="Small letters, digits, dots and dashes" required maxLength={100} data-autofocus value={texts.name ?? ""} onChange={set("name")} />
          <NativeSelect label="Kind" data={KINDS} value={kind} onChange={(event) => setKind(KINDS.find((one) => one.value === event.currentTarget.value)?.value ?? "folder")} />
          {FIELDS[kind].map(([name, label, required]) => (
            <TextInput key={name} label={label} required={required} value={texts[name] ?? ""} onChange={set(name)} />
          ))}
          <Group grow align="flex-start">
            <NativeSelect label="Files go to" data={names} value={texts.pipeline ?? names[0] ?? ""} onChange={set("pipeline")} />
            <TextInput label="Owner of the jobs" placeholder="you" value={texts.owner ?? ""} onChange={set("owner")} />
          </Group>
          <Group grow align="flex-start">
            <TextInput label="Names of files" description="* stands for anything" placeholder="*" value={texts.pattern ?? ""} onChange={set("pattern")} />
            <NumberInput label="Seconds without a change" description="before a file is taken" min={0} max={86_400} value={stable} onChange={(value) => setStable(typeof value === "number" ? value : 5)} />
          </Group>
          <NativeSelect
            label="Afterwards"
            value={after}
            onChange={(event) => setAfter((["keep", "move", "delete"] as const).find((one) => one === event.currentTarget.value) ?? "keep")}
            data={[
              { value: "keep", label: "the file stays where it is" },
              { value: "move", label: "the file is moved" },
              { value: "delete", label: "the file is deleted" },
            ]}
          />
          {after === "move" && <TextInput label="Moved to" description="A folder inside the place" required value={texts.target ?? ""} onChange={set("target")} />}
          {kind !== "folder" && (
            <Group grow align="flex-start">
              <TextInput label="Variable with the user" description="Its name in the environment of service and workers" value={texts.userEnv ?? ""} onChange={set("userEnv")} />
              <TextInput label="Variable with the secret" description="Its name, not the secret" value={texts.secretEnv ?? ""} onChange={set("secretEnv")} />
            </Group>
          )}
          {add.error && (
            <Alert color="red" role="alert" className="stored">
              {add.error.message}
            </Alert>
          )}
          <Group justify="flex-end">
            <Button variant="default" onClick={onClose}>
              Leave it
            </Button>
            <Button type="submit" loading={add.isPending}>
              Watch it
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}
