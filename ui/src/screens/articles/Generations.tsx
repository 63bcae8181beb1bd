import { Button, Group, Stack, Table, Text } from "@mantine/core";
import { useMutation, useQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useState } from "react";
import { api, ask, type Schemas } from "~/api/client";
import { tellDone } from "~/api/queries";
import { Confirm } from "~/blocks/Confirm";
import { JobProgress } from "~/blocks/Progress";
import { StateBadge } from "~/blocks/StateBadge";
import { Loading } from "~/blocks/Trouble";
import { When } from "~/blocks/When";
import { Wide } from "~/blocks/Wide";
import { count, duration, many, rate } from "~/blocks/wording";
import { Allowed } from "~/shell/Allowed";
import { Comparison } from "./Comparison";

type Generation = Schemas["Generation"];
type Deed = "switch" | "roll-back" | "drop";

const LOOKS: Record<Generation["state"], [string, string]> = {
  building: ["RUNNING", "Building"],
  ready: ["QUEUED", "Ready"],
  active: ["DONE", "Active"],
  standby: ["PAUSED", "Standby"],
  dropped: ["CANCELLED", "Dropped"],
};

/** Every index of the articles; one of them answers. */
export function Generations({ generations }: { generations: Generation[] }) {
  const { compare, with: other } = useSearch({ from: "/index" });
  const navigate = useNavigate({ from: "/index" });
  const kept = generations.filter((one) => one.state !== "dropped").reverse();
  const dropped = generations.filter((one) => one.state === "dropped");
  const active = kept.find((one) => one.state === "active");
  const compared = kept.find((one) => one.id === compare);
  const against = kept.find((one) => one.id === (other ?? active?.id));
  return (
    <Stack>
      <Wide minWidth={820} deeds>
        <Table verticalSpacing="xs" aria-label="Generations">
          <Table.Thead>
            <Table.Tr>
              <Table.Th>Generation</Table.Th>
              <Table.Th miw={130}>State</Table.Th>
              <Table.Th>Embedder</Table.Th>
              <Table.Th>Made</Table.Th>
              <Table.Th aria-label="What can be done" />
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {kept.map((one) => (
              <Row
                key={one.id}
                generation={one}
                active={active}
                canRollBack={kept.some((standby) => standby.state === "standby")}
                onCompare={() => void navigate({ search: (was) => ({ ...was, compare: one.id, with: undefined }) })}
              />
            ))}
          </Table.Tbody>
        </Table>
      </Wide>
      {kept.length === 1 && (
        <Text size="sm" c="dimmed">
          To try another model, or other passages, build a new generation beside it. Searches go on all the time; nothing changes until somebody switches.
        </Text>
      )}
      {dropped.length > 0 && (
        <Text size="sm" c="dimmed" className="stored">
          Dropped: {dropped.map((one) => one.name).join(", ")}
        </Text>
      )}
      {compared && against && compared.id !== against.id && (
        <Comparison
          a={compared}
          b={against}
          others={kept.filter((one) => one.id !== compared.id && one.state !== "building")}
          onOther={(id) => void navigate({ search: (was) => ({ ...was, with: id === active?.id ? undefined : id }) })}
          onClose={() => void navigate({ search: (was) => ({ ...was, compare: undefined, with: undefined }) })}
        />
      )}
    </Stack>
  );
}

type RowProps = { generation: Generation; active: Generation | undefined; canRollBack: boolean; onCompare: () => void };

function Row({ generation, active, canRollBack, onCompare }: RowProps) {
  const { id, name, state } = generation;
  const [asking, setAsking] = useState<Deed | null>(null);
  const [look, word] = LOOKS[state];
  const isActive = state === "active";
  return (
    <Table.Tr data-generation={name}>
      <Table.Td>
        <Text fw={600} className="stored">
          {name}
        </Text>
        <Text size="xs" c="dimmed">
          number {id} · {generation.chunker}
        </Text>
      </Table.Td>
      <Table.Td>
        <StateBadge state={state} word={word} look={look} />
        {generation.note && (
          <Text size="xs" c="dimmed" className="stored" maw={320}>
            {generation.note}
          </Text>
        )}
        {state === "building" && generation.jobId !== null && <Building jobId={generation.jobId} />}
      </Table.Td>
      <Table.Td>
        <Text size="sm" className="stored">
          {generation.embedder}
        </Text>
        <Text size="xs" c="dimmed" className="stored">
          {generation.model}, {count(generation.dimensions)} dimensions
        </Text>
      </Table.Td>
      <Table.Td>
        <Text size="sm">
          <When at={generation.createdAt} /> by {generation.createdBy}
        </Text>
        {generation.activatedAt && (
          <Text size="xs" c="dimmed">
            {isActive ? "answers since" : "was switched to"} <When at={generation.activatedAt} />
          </Text>
        )}
      </Table.Td>
      <Table.Td>
        <Group gap="xs" justify="flex-end" wrap="nowrap">
          {isActive ? (
            <Allowed role="admin" unless={canRollBack ? null : "No other generation was active before."}>
              <Button size="xs" variant="default" onClick={() => setAsking("roll-back")}>
                Roll back
              </Button>
            </Allowed>
          ) : (
            <>
              <Allowed role="admin" unless={state === "building" ? "It is still being built." : null}>
                <Button size="xs" variant="default" onClick={onCompare}>
                  Compare
                </Button>
              </Allowed>
              <Allowed role="admin" unless={state === "building" ? "It is still being built." : null}>
                <Button size="xs" variant="default" onClick={() => setAsking("switch")}>
                  Switch
                </Button>
              </Allowed>
              <Allowed role="admin">
                <Button size="xs" variant="default" color="red" onClick={() => setAsking("drop")}>
                  Drop
                </Button>
              </Allowed>
            </>
          )}
        </Group>
        {asking !== null && <Ask deed={asking} generation={generation} active={active} onClose={() => setAsking(null)} />}
      </Table.Td>
    </Table.Tr>
  );
}

function Building({ jobId }: { jobId: number }) {
  const job = useQuery({
    queryKey: ["job", jobId, "filling"],
    queryFn: ({ signal }) => ask(api.GET("/api/jobs/{jobId}", { params: { path: { jobId } }, signal })),
    retry: false,
  }).data;
  if (!job) return null;
  return (
    <div data-building>
      <JobProgress counts={job.counts} total={job.totalItems} size="sm" />
      {job.etaSeconds !== null && (
        <Text size="xs" c="dimmed">
          {duration(job.etaSeconds)} at {rate(job.perSecond)}
        </Text>
      )}
    </div>
  );
}

const VERBS: Record<Deed, string> = { switch: "Switch", "roll-back": "Roll back", drop: "Drop generation" };

/** What a deed means, with how much the generation stands for. */
function Ask({ deed, generation, active, onClose }: { deed: Deed; generation: Generation; active: Generation | undefined; onClose: () => void }) {
  const { id, name } = generation;
  const path = { path: { generationId: id } };
  const size = useQuery({
    queryKey: ["object", "article", "generation", id],
    queryFn: ({ signal }) => ask(api.GET("/api/article-index/generations/{generationId}", { params: path, signal })),
    enabled: deed !== "roll-back",
  });
  const act = useMutation({
    mutationFn: () => {
      if (deed === "roll-back") return ask(api.POST("/api/article-index/generations/roll-back"));
      if (deed === "drop") return ask(api.DELETE("/api/article-index/generations/{generationId}", { params: path }));
      return ask(api.POST("/api/article-index/generations/{generationId}/switch", { params: path }));
    },
    meta: { touches: [["object", "article"], ["article-search"], ["similar"]] },
    onSuccess: (made) => tellDone(deed === "drop" ? `${made.name} is dropped.` : `${made.name} answers searches now.`),
  });
  const covers = size.data?.coverage;
  const title = deed === "roll-back" ? "Roll back to the generation before?" : deed === "drop" ? `Drop ${name}?` : `Switch to ${name}?`;
  return (
    <Confirm title={title} verb={VERBS[deed]} danger={deed === "drop"} waits={size.isLoading} onConfirm={() => act.mutateAsync()} onClose={onClose}>
      {size.isLoading ? (
        <Loading rows={2} />
      ) : deed === "roll-back" ? (
        <span className="stored">Searches are answered again by the generation that was active before {name}, which was kept up to date. {name} stays.</span>
      ) : deed === "drop" ? (
        <span className="stored">
          {covers && size.data ? `${many(size.data.chunks, "vector")} of ${many(covers.indexed + covers.stale, "article")} go.` : "Its vectors go."} To have them again, it has to be
          built anew. {active?.name} goes on answering.
        </span>
      ) : (
        <span className="stored">
          Searches are answered by {name} from now on
          {covers && `; it stands for ${count(covers.indexed)} of ${many(covers.total, "article")}`}. {active?.name} stays on standby and is kept up to date.
        </span>
      )}
    </Confirm>
  );
}
