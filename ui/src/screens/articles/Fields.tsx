import { Checkbox, Group, Radio, Select, SimpleGrid, Stack, Text, Textarea, TextInput } from "@mantine/core";
import { useDeferredValue, type ReactNode } from "react";
import { Markdown } from "~/blocks/Markdown";
import classes from "./articles.module.css";
import type { Draft, Priority } from "./draft";

const PRIORITIES: { value: Priority; label: string }[] = [
  { value: "high", label: "First" },
  { value: "normal", label: "As usual" },
  { value: "low", label: "When nothing else waits" },
];

type Props = {
  draft: Draft;
  onChange: (draft: Draft) => void;
  /** Instead of the preview, e.g. the text of somebody who was quicker. */
  beside?: ReactNode;
};

/** What one writes about an article: its title, its text with a preview beside it, and how it is saved. */
export function Fields({ draft, onChange, beside }: Props) {
  const shown = useDeferredValue(draft.content);
  const set = (change: Partial<Draft>) => onChange({ ...draft, ...change });
  return (
    <Stack gap="md">
      <TextInput label="Title" required maxLength={300} value={draft.title} onChange={(event) => set({ title: event.currentTarget.value })} />
      <SimpleGrid cols={{ base: 1, md: 2 }} spacing="md">
        <Textarea
          label="Text"
          description="Markdown: # heading, **bold**, *italic*, - list, > quote, `code`, [link](https://…)"
          required
          autosize
          minRows={14}
          maxRows={30}
          value={draft.content}
          onChange={(event) => set({ content: event.currentTarget.value })}
          classNames={{ input: "mono" }}
        />
        {beside ?? (
          <Stack gap={5}>
            <div>
              <Text size="sm" fw={600}>
                Preview
              </Text>
              <Text size="xs" c="dimmed">
                As readers see it.
              </Text>
            </div>
            <div className={classes.pane} role="region" aria-label="Preview" tabIndex={0}>
              {shown.trim() === "" ? <span className="quiet">What you write is shown here.</span> : <Markdown text={shown} />}
            </div>
          </Stack>
        )}
      </SimpleGrid>
      <SimpleGrid cols={{ base: 1, sm: 2, md: 3 }} spacing="md">
        <TextInput
          label="What changed"
          description="Kept with the revision."
          maxLength={500}
          value={draft.message}
          onChange={(event) => set({ message: event.currentTarget.value })}
        />
        <Radio.Group label="Who sees it" value={draft.visibility} onChange={(value) => set({ visibility: value === "shared" ? "shared" : "private" })}>
          <Group mt={10}>
            <Radio value="private" label="Author only" />
            <Radio value="shared" label="Everybody" />
          </Group>
        </Radio.Group>
        <Stack gap="xs">
          <Select
            label="Embed it"
            data={PRIORITIES}
            value={draft.priority}
            allowDeselect={false}
            disabled={draft.skipEmbedding}
            onChange={(value) => set({ priority: PRIORITIES.find((one) => one.value === value)?.value ?? "normal" })}
          />
          <Checkbox
            label="Do not embed it now"
            description="It is found by its words."
            checked={draft.skipEmbedding}
            onChange={(event) => set({ skipEmbedding: event.currentTarget.checked })}
          />
        </Stack>
      </SimpleGrid>
    </Stack>
  );
}
