import { Alert, Button, FileInput, Group, Modal, SegmentedControl, Stack, Table, Text, Textarea, TextInput } from "@mantine/core";
import { useMutation, useQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useState } from "react";
import { api, ask, sendForm, type Schemas } from "~/api/client";
import { tellDone } from "~/api/queries";
import { GoToButton } from "~/blocks/links";
import { Loading, Trouble } from "~/blocks/Trouble";
import { Wide } from "~/blocks/Wide";
import { count, many } from "~/blocks/wording";
import { countAddresses } from "./addresses";
import { AddOptions, type Wanted } from "./AddOptions";
import { modelsQuery } from "./queries";
import type { ADDING } from "./routes";

type Source = "one" | (typeof ADDING)[number];
type Places = { url: string; text: string; sitemap: string; file: File | null };
type Models = Schemas["ModelList"];

/** Addresses, however somebody has them, and what is to be done with them. */
export function AddSites({ onClose }: { onClose: () => void }) {
  const models = useQuery(modelsQuery);
  return (
    <Modal opened onClose={onClose} title="Analyse websites" size="xl" closeButtonProps={{ "aria-label": "Close" }}>
      {models.isPending ? (
        <Loading />
      ) : models.isError ? (
        <Trouble error={models.error} again={() => void models.refetch()} />
      ) : (
        <Form models={models.data} onClose={onClose} />
      )}
    </Modal>
  );
}

function Form({ models, onClose }: { models: Models; onClose: () => void }) {
  const search = useSearch({ from: "/sites" });
  const navigate = useNavigate();
  const source: Source = search.from ?? "one";
  const [places, setPlaces] = useState<Places>({ url: "", text: "", sitemap: "", file: null });
  const [wanted, setWanted] = useState<Wanted>(() => {
    const ready = models.items.filter((model) => model.ready && models.usual.models.includes(model.name));
    return { ...models.usual, models: ready.map((model) => model.name), name: "", review: false };
  });
  // The same key for every press of the button: a press that got no answer does not start a second analysis.
  const [key] = useState(() => Array.from(crypto.getRandomValues(new Uint32Array(4)), (part) => part.toString(16)).join("-"));
  const set = (part: Partial<Places>) => setPlaces((was) => ({ ...was, ...part }));

  const open = (jobId: number) => void navigate({ to: "/sites/$jobId", params: { jobId: String(jobId) } });
  const add = useMutation({
    mutationFn: () => sent(source, places, wanted, key),
    meta: { touches: [["jobs"]], ownProblem: true },
    onSuccess: (added) => {
      if (added.refusedCount > 0) return;
      tellDone(`${many(added.sites, "site")} added${added.duplicates > 0 ? `, ${count(added.duplicates)} named twice` : ""}.`);
      open(added.jobId);
    },
  });
  if (add.data && add.data.refusedCount > 0) return <Result added={add.data} />;

  const missing = missingIn(source, places) ?? (wanted.models.length === 0 ? "Choose at least one model." : null);
  const sites = source === "one" ? 1 : source === "list" ? countAddresses(places.text) : null;
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        if (missing === null) add.mutate();
      }}
    >
      <Stack>
        <SegmentedControl
          aria-label="Where the addresses come from"
          fullWidth
          value={source}
          onChange={(value) =>
            void navigate({ to: "/sites", search: (was) => ({ ...was, from: value === "one" ? undefined : (value as (typeof ADDING)[number]) }), replace: true })
          }
          data={[
            { value: "one", label: "One site" },
            { value: "list", label: "List" },
            { value: "sitemap", label: "Sitemap" },
            { value: "file", label: "CSV" },
          ]}
        />
        {source === "one" && (
          <TextInput
            label="Address"
            placeholder="example.com"
            value={places.url}
            onChange={(event) => set({ url: event.currentTarget.value })}
            maxLength={2000}
            autoFocus
          />
        )}
        {source === "list" && (
          <Textarea
            label="Addresses"
            description="One per line, or with commas between. Words around them are left out."
            autosize
            minRows={4}
            maxRows={10}
            value={places.text}
            onChange={(event) => set({ text: event.currentTarget.value })}
          />
        )}
        {source === "sitemap" && (
          <TextInput
            label="Address of the sitemap"
            description="Every page in it becomes a site of its own, at most 10,000."
            placeholder="https://example.com/sitemap.xml"
            value={places.sitemap}
            onChange={(event) => set({ sitemap: event.currentTarget.value })}
            maxLength={2000}
          />
        )}
        {source === "file" && (
          <FileInput
            label="CSV file"
            description="The column url, website or domain counts, else the first with addresses."
            placeholder="Choose a file"
            accept=".csv,text/csv,text/plain"
            value={places.file}
            onChange={(file) => set({ file })}
            clearable
            clearButtonProps={{ "aria-label": "Choose no file" }}
          />
        )}
        <AddOptions models={models} wanted={wanted} onChange={setWanted} sites={sites} />
        {add.isError && <Trouble error={add.error} />}
        <Group justify="flex-end">
          {missing && (
            <Text size="sm" c="dimmed" id="missing">
              {missing}
            </Text>
          )}
          <Button variant="default" onClick={onClose}>
            Close
          </Button>
          <Button type="submit" loading={add.isPending} disabled={missing !== null} aria-describedby={missing ? "missing" : undefined}>
            {sites !== null && sites > 1 ? `Analyse ${count(sites)} sites` : "Analyse"}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}

function missingIn(source: Source, places: Places): string | null {
  if (source === "one") return places.url.trim() ? null : "Enter an address.";
  if (source === "list") return places.text.trim() ? null : "Paste some addresses.";
  if (source === "sitemap") return places.sitemap.trim() ? null : "Enter the address of a sitemap.";
  return places.file ? null : "Choose a file.";
}

async function sent(source: Source, places: Places, wanted: Wanted, key: string): Promise<Schemas["AddedBody"]> {
  const { name, models, pages, samples, prompts, budget, review } = wanted;
  const chosen = { name: name.trim() || undefined, models, pages, samples, prompts, budget, review };
  const headers = { "Idempotency-Key": key };
  if (source !== "file") {
    const place = source === "one" ? { url: places.url.trim() } : source === "list" ? { text: places.text } : { sitemap: places.sitemap.trim() };
    return ask(api.POST("/api/analyses", { body: { ...chosen, ...place }, params: { header: headers } }));
  }
  const form = new FormData();
  for (const [field, value] of Object.entries(chosen)) if (value !== undefined) form.set(field, Array.isArray(value) ? value.join(",") : String(value));
  form.set("file", places.file ?? "");
  return sendForm("/api/analyses", form, { headers });
}

/** Some of what was given is no site: told before somebody goes on. */
function Result({ added }: { added: Schemas["AddedBody"] }) {
  return (
    <Stack>
      <Alert color="orange" title={`${many(added.sites, "site")} added, ${count(added.refusedCount)} left out`}>
        {added.duplicates > 0 && `${count(added.duplicates)} were named twice. `}
        What was left out is no address that can be read. The others are being analysed.
      </Alert>
      <Wide minWidth={300} maxHeight={320}>
        <Table fz="sm">
          <Table.Thead>
            <Table.Tr>
              <Table.Th>Left out</Table.Th>
              <Table.Th>Why</Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {added.refused.map((one, index) => (
              <Table.Tr key={index}>
                <Table.Td className="stored">{one.text}</Table.Td>
                <Table.Td className="stored">{one.why}</Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      </Wide>
      <Group justify="flex-end">
        <GoToButton to="/sites/$jobId" params={{ jobId: String(added.jobId) }}>
          Go to the analysis
        </GoToButton>
      </Group>
    </Stack>
  );
}
