import { Button, Checkbox, Group, Modal, Stack, TagsInput, Text, TextInput } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { api, ask } from "~/api/client";
import { tellDone } from "~/api/queries";
import { Trouble } from "~/blocks/Trouble";

type Props = {
  query?: string;
  /** What was found: some of it is what should be found. */
  candidates?: { slug: string; title: string }[];
  onClose: () => void;
};

const MOST_OFFERED = 10;

/** Keeps a query, with the articles it should find, so that generations can be compared on it. */
export function SaveQuery({ query = "", candidates = [], onClose }: Props) {
  const [typed, setTyped] = useState(query);
  const [expected, setExpected] = useState<string[]>([]);
  const offered = candidates.slice(0, MOST_OFFERED);
  const save = useMutation({
    mutationFn: () => ask(api.POST("/api/article-index/queries", { body: { query: typed.trim(), expected } })),
    meta: { ownProblem: true, touches: [["object", "article", "queries"]] },
    onSuccess: () => {
      tellDone("Saved. Generations are compared on it from now on.");
      onClose();
    },
  });
  return (
    <Modal opened onClose={onClose} title="Save a query for comparisons" closeButtonProps={{ "aria-label": "Close" }}>
      <Stack>
        <TextInput label="Query" value={typed} maxLength={1000} onChange={(event) => setTyped(event.currentTarget.value)} data-autofocus />
        {offered.length > 0 ? (
          <Checkbox.Group label="What it should find" value={expected} onChange={setExpected}>
            <Stack gap={6} mt={6}>
              {offered.map((one) => (
                <Checkbox key={one.slug} value={one.slug} label={<span className="stored">{one.title}</span>} />
              ))}
            </Stack>
          </Checkbox.Group>
        ) : (
          <TagsInput label="What it should find" description="The names of articles as in their addresses; Enter adds one." value={expected} onChange={setExpected} />
        )}
        <Text size="sm" c="dimmed">
          Without any, only what both generations find is compared.
        </Text>
        {save.isError && <Trouble error={save.error} />}
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose}>
            Leave it
          </Button>
          <Button disabled={typed.trim() === ""} loading={save.isPending} onClick={() => save.mutate()}>
            Save query
          </Button>
        </Group>
      </Stack>
    </Modal>
  );
}
