import { ActionIcon, Alert, Button, Group, Stack, Text, TextInput } from "@mantine/core";
import { useMutation, useQuery } from "@tanstack/react-query";
import { useBlocker } from "@tanstack/react-router";
import { Plus, Trash2 } from "lucide-react";
import { useState } from "react";
import { api, ask, type Schemas } from "~/api/client";
import { tellDone } from "~/api/queries";
import { Confirm } from "~/blocks/Confirm";
import { Trouble } from "~/blocks/Trouble";
import { many } from "~/blocks/wording";
import { cost, estimate } from "./estimate";
import { modelsQuery, optionsOf } from "./queries";
import type { Analysis, Detail } from "./Site";
import { isOpen } from "./stages";

type Prompt = Schemas["PromptBody"];
type Line = { id: number; text: string };

const MOST = 200;
const LONGEST = 500;

/** All prompts of one site, each in a field of its own. */
export function PromptEditor({ site, analysis, prompts, onClose }: { site: Detail; analysis: Analysis; prompts: Prompt[]; onClose: () => void }) {
  const [lines, setLines] = useState<Line[]>(() => prompts.map((prompt, id) => ({ id, text: prompt.text })));
  const [next, setNext] = useState(prompts.length);
  const texts = lines.map((line) => line.text.trim()).filter(Boolean);
  const changed = texts.join("\n") !== prompts.map((prompt) => prompt.text).join("\n");
  const save = useMutation({
    mutationFn: () =>
      ask(api.PUT("/api/analyses/{jobId}/sites/{siteId}/prompts", { params: { path: { jobId: site.jobId, siteId: site.siteId } }, body: { prompts: texts } })),
    meta: { touches: [["job", site.jobId]], ownProblem: true },
    onSuccess: (done) => {
      tellDone(`${many(done.prompts.length, "prompt")} saved. ${done.counts === "now" ? "They are asked in this run." : "They are asked when the site runs again."}`);
      onClose();
    },
  });
  const leaving = useBlocker({ shouldBlockFn: () => changed && !save.isSuccess, withResolver: true, enableBeforeUnload: () => changed && !save.isSuccess });
  const set = (id: number, text: string) => setLines((was) => was.map((line) => (line.id === id ? { id, text } : line)));
  function add(): void {
    setLines((was) => [...was, { id: next, text: "" }]);
    setNext(next + 1);
  }
  return (
    <form
      aria-label="Edit the prompts"
      onSubmit={(event) => {
        event.preventDefault();
        if (changed && texts.length > 0) save.mutate();
      }}
    >
      <Stack gap="xs">
        <Follows site={site} analysis={analysis} prompts={prompts} texts={texts} />
        {lines.map((line, index) => (
          <Group key={line.id} gap="xs" wrap="nowrap">
            <TextInput
              flex={1}
              aria-label={`Prompt ${index + 1}`}
              value={line.text}
              maxLength={LONGEST}
              autoFocus={line.id >= prompts.length}
              onChange={(event) => set(line.id, event.currentTarget.value)}
            />
            <ActionIcon variant="subtle" color="gray" size="lg" aria-label={`Remove prompt ${index + 1}`} onClick={() => setLines((was) => was.filter((one) => one.id !== line.id))}>
              <Trash2 size={16} aria-hidden />
            </ActionIcon>
          </Group>
        ))}
        {save.isError && <Trouble error={save.error} />}
        <Group justify="space-between">
          <Button variant="subtle" leftSection={<Plus size={16} aria-hidden />} onClick={add} disabled={lines.length >= MOST}>
            Add a prompt
          </Button>
          <Group gap="xs">
            <Button variant="default" onClick={onClose}>
              Stop editing
            </Button>
            <Button type="submit" loading={save.isPending} disabled={!changed || texts.length === 0}>
              Save {many(texts.length, "prompt")}
            </Button>
          </Group>
        </Group>
      </Stack>
      {leaving.status === "blocked" && (
        <Confirm title="Leave without saving?" verb="Throw the changes away" danger onConfirm={async () => leaving.proceed()} onClose={() => leaving.reset()}>
          The prompts were changed and not saved.
        </Confirm>
      )}
    </form>
  );
}

/** What saving means: what is asked again, and what that may cost. */
function Follows({ site, analysis, prompts, texts }: { site: Detail; analysis: Analysis; prompts: Prompt[]; texts: string[] }) {
  const models = useQuery(modelsQuery).data;
  const options = optionsOf(analysis.options);
  const known = new Set(prompts.map((prompt) => prompt.text));
  const fresh = new Set(texts.filter((text) => !known.has(text))).size;
  const found = models && estimate({ ...options, pages: 0, budget: Infinity, prompts: fresh }, models.items, 1);
  return (
    <Alert color="gray" p="xs" role="status">
      <Text size="sm">
        {isOpen(site) ? "These are asked in this run" : "Saved prompts are asked when the site runs again from model analysis; pages and facts stay"}.{" "}
        {fresh === 0 ? "None is new." : `${many(fresh, "prompt is", "prompts are")} new${found ? `: ${many(found.calls, "question")}, at most ${cost(found.perSite)}` : ""}.`}{" "}
        {site.approvedAt && "The approval was given for the old ones and ends. "}
        One that stays as it is keeps its fact and its answers.
      </Text>
    </Alert>
  );
}
