import { Alert, Badge, Button, Group, Stack, Table, Text } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { PencilLine, RotateCcw, Undo2 } from "lucide-react";
import { useState } from "react";
import { api, ask, type Schemas } from "~/api/client";
import { tellDone } from "~/api/queries";
import { Confirm } from "~/blocks/Confirm";
import { Empty } from "~/blocks/Empty";
import { Wide } from "~/blocks/Wide";
import { many, sentence } from "~/blocks/wording";
import { Allowed } from "~/shell/Allowed";
import { Outside } from "./Outside";
import { PromptEditor } from "./PromptEditor";
import { RunAgain } from "./RunAgain";
import { notYet, type Analysis, type Detail } from "./Site";
import { isOpen } from "./stages";

type Prompt = Schemas["PromptBody"];

/** The questions of the site: where each came from, and others in their place. */
export function PromptsTab({ site, analysis }: { site: Detail; analysis: Analysis }) {
  const [editing, setEditing] = useState(false);
  const [resetting, setResetting] = useState(false);
  const [running, setRunning] = useState(false);
  const prompts = site.nextPrompts ?? site.prompts;
  const params = { path: { jobId: site.jobId, siteId: site.siteId } };
  const reset = useMutation({
    mutationFn: () => ask(api.DELETE("/api/analyses/{jobId}/sites/{siteId}/prompts", { params })),
    meta: { touches: [["job", site.jobId]] },
    onSuccess: (done) => tellDone(`The ${many(done.prompts.length, "prompt")} that were formed count again.`),
  });
  if (prompts.length === 0)
    return (
      <Empty kind="nothing" title="No prompts yet">
        {notYet(site, "Prompts")}
      </Empty>
    );
  if (editing) return <PromptEditor site={site} analysis={analysis} prompts={prompts} onClose={() => setEditing(false)} />;
  const busy = cannotEdit(site);
  return (
    <Stack>
      {site.nextPrompts !== null && (
        <Alert color="blue" title="Edited since they were asked">
          <Group justify="space-between">
            <Text size="sm">These are asked when the site runs again from model analysis. The answers and scores shown are of the earlier ones.</Text>
            <Allowed role="operator" owner={analysis.owner}>
              <Button size="xs" leftSection={<RotateCcw size={14} aria-hidden />} onClick={() => setRunning(true)}>
                Run again with them
              </Button>
            </Allowed>
          </Group>
        </Alert>
      )}
      <Group justify="space-between">
        <Text size="sm" c="dimmed">
          {many(prompts.length, "prompt")}, asked in this order.{site.edited && " Somebody edited them."}
        </Text>
        <Group gap="xs">
          {site.edited && (
            <Allowed role="operator" owner={analysis.owner} unless={busy}>
              <Button size="xs" variant="default" leftSection={<Undo2 size={14} aria-hidden />} onClick={() => setResetting(true)}>
                Back to the formed ones
              </Button>
            </Allowed>
          )}
          <Allowed role="operator" owner={analysis.owner} unless={busy}>
            <Button size="xs" variant="default" leftSection={<PencilLine size={14} aria-hidden />} onClick={() => setEditing(true)}>
              Edit
            </Button>
          </Allowed>
        </Group>
      </Group>
      <PromptTable prompts={prompts} asked={site.nextPrompts === null ? null : site.prompts} />
      {resetting && (
        <Confirm title="Go back to the formed prompts?" verb="Go back to them" danger onConfirm={() => reset.mutateAsync()} onClose={() => setResetting(false)}>
          The {many(prompts.length, "prompt")} as they are edited now are given up. {site.approvedAt && "Their approval ends. "}
          {isOpen(site) ? "The formed ones are asked in this run." : "The formed ones are asked when the site runs again from model analysis."}
        </Confirm>
      )}
      {running && (
        <RunAgain
          jobId={site.jobId}
          siteIds={[site.siteId]}
          statuses={["DONE", "ERROR", "NOT_FOUND", "SKIPPED", "CANCELLED"]}
          number={1}
          from="model-analysis"
          onClose={() => setRunning(false)}
        />
      )}
    </Stack>
  );
}

function cannotEdit(site: Detail): string | null {
  if (!isOpen(site)) return null;
  if (site.state === "PENDING" && site.stage === "model-analysis") return null;
  return site.state === "PROCESSING" && site.stage === "model-analysis"
    ? "Models are being asked. Wait until they have answered."
    : "Wait until the prompts of this run are formed.";
}

function PromptTable({ prompts, asked }: { prompts: Prompt[]; asked: Prompt[] | null }) {
  const known = new Set(asked?.map((one) => one.key));
  return (
    <Wide minWidth={560}>
      <Table fz="sm" verticalSpacing={6} aria-label="Prompts">
        <Table.Thead>
          <Table.Tr>
            <Table.Th>Prompt</Table.Th>
            <Table.Th>Kind</Table.Th>
            <Table.Th>Formed from</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {prompts.map((prompt) => (
            <Table.Tr key={prompt.key}>
              <Table.Td className="stored">
                {prompt.text}{" "}
                {asked !== null && !known.has(prompt.key) && (
                  <Badge size="xs" variant="light" tt="none">
                    New
                  </Badge>
                )}
              </Table.Td>
              <Table.Td>{prompt.kind === "own" ? "Own" : sentence(prompt.kind)}</Table.Td>
              <Table.Td>
                <span className="stored">{prompt.fact || "–"}</span>{" "}
                {prompt.page && (
                  <Text span size="xs" c="dimmed">
                    <Outside url={prompt.page} />
                  </Text>
                )}
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Wide>
  );
}
