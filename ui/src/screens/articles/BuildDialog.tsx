import { Alert, Button, Group, Modal, NumberInput, Select, SimpleGrid, Stack, Text, TextInput } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { api, ask, type Schemas } from "~/api/client";
import { tellDone } from "~/api/queries";
import { Trouble } from "~/blocks/Trouble";
import { count } from "~/blocks/wording";

/** Another generation beside the one that answers. */
export function BuildDialog({ embedders, onClose }: { embedders: Schemas["EmbedderBody"][]; onClose: () => void }) {
  const [name, setName] = useState("");
  const [embedder, setEmbedder] = useState(embedders.find((one) => one.ready)?.name ?? "builtin");
  const [size, setSize] = useState<number | string>(700);
  const [overlap, setOverlap] = useState<number | string>(100);
  const chosen = embedders.find((one) => one.name === embedder);
  const build = useMutation({
    mutationFn: () => ask(api.POST("/api/article-index/generations", { body: { name: name.trim(), embedder, chunkCharacters: Number(size), overlap: Number(overlap) } })),
    meta: { ownProblem: true, touches: [["object", "article"], ["jobs"]] },
    onSuccess: (made) => {
      tellDone(`${made.name} is being built.`);
      onClose();
    },
  });
  return (
    <Modal opened onClose={onClose} title="Build a new generation" closeButtonProps={{ "aria-label": "Close" }}>
      <Stack>
        <Text size="sm" c="dimmed">
          Every article is embedded for it, beside the generation that answers. Searches change when somebody switches, not before.
        </Text>
        <TextInput label="Name" required maxLength={100} value={name} onChange={(event) => setName(event.currentTarget.value)} data-autofocus />
        <Select
          label="Embedder"
          description="Named in the file of PENSTOCK_ARTICLES_EMBEDDERS_FILE."
          data={embedders.map((one) => ({ value: one.name, label: one.name, disabled: !one.ready }))}
          value={embedder}
          allowDeselect={false}
          onChange={(value) => value !== null && setEmbedder(value)}
        />
        {chosen && (
          <Text size="sm" className="stored">
            {chosen.model}: {count(chosen.dimensions)} dimensions{chosen.host ? `, at ${chosen.host}` : ", in this process"}.
          </Text>
        )}
        {embedders
          .filter((one) => one.problem !== null)
          .map((one) => (
            <Alert key={one.name} color="orange" p="xs" className="stored">
              {one.name} cannot be used: {one.problem}
            </Alert>
          ))}
        <SimpleGrid cols={2}>
          <NumberInput label="Characters of a passage" min={100} max={20_000} value={size} onChange={setSize} />
          <NumberInput label="Overlap" min={0} max={10_000} value={overlap} onChange={setOverlap} />
        </SimpleGrid>
        {build.isError && <Trouble error={build.error} />}
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose}>
            Leave it
          </Button>
          <Button disabled={name.trim() === "" || size === "" || overlap === ""} loading={build.isPending} onClick={() => build.mutate()}>
            Build generation
          </Button>
        </Group>
      </Stack>
    </Modal>
  );
}
