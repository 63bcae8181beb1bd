import { Alert, Button, Checkbox, FileInput, Group, Modal, Radio, Stack, Table, Text, TextInput } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { CircleCheck } from "lucide-react";
import { useState } from "react";
import { sendForm, type Schemas } from "~/api/client";
import { GoTo } from "~/blocks/links";
import { Trouble } from "~/blocks/Trouble";
import { Wide } from "~/blocks/Wide";
import { count, many } from "~/blocks/wording";

/** Many articles in one file. What was refused stays on screen until somebody has read it. */
export function ImportDialog({ onClose, onDone }: { onClose: () => void; onDone: () => void }) {
  const [file, setFile] = useState<File | null>(null);
  const [visibility, setVisibility] = useState<"private" | "shared">("private");
  const [skipEmbedding, setSkip] = useState(false);
  const [source, setSource] = useState("");
  const bring = useMutation({
    mutationFn: (file: File) => {
      const form = new FormData();
      form.append("file", file);
      form.append("visibility", visibility);
      form.append("skipEmbedding", String(skipEmbedding));
      if (source.trim()) form.append("source", source.trim());
      return sendForm<Schemas["ImportedBody"]>("/api/articles/import", form);
    },
    meta: { ownProblem: true, touches: [["object", "article"], ["jobs"]] },
    onSuccess: onDone,
  });
  return (
    <Modal opened onClose={onClose} title="Import articles" size="lg" closeButtonProps={{ "aria-label": "Close" }}>
      {bring.data ? (
        <Outcome done={bring.data} onClose={onClose} onAnother={() => bring.reset()} />
      ) : (
        <Stack>
          <FileInput
            label="File"
            description="A CSV with the columns title and content, a Markdown file, or a zip of Markdown files."
            placeholder="Choose a file"
            accept=".csv,.md,.markdown,.zip"
            value={file}
            onChange={setFile}
            clearable
            clearButtonProps={{ "aria-label": "Choose no file" }}
          />
          <Radio.Group label="Who sees them" value={visibility} onChange={(value) => setVisibility(value === "shared" ? "shared" : "private")}>
            <Group mt={4}>
              <Radio value="private" label="Only me" />
              <Radio value="shared" label="Everybody" />
            </Group>
          </Radio.Group>
          <TextInput
            label="Name of the source"
            description="Articles that came from the same source before are updated. Left out: the name of the file."
            value={source}
            maxLength={200}
            onChange={(event) => setSource(event.currentTarget.value)}
          />
          <Checkbox label="Do not embed them now" checked={skipEmbedding} onChange={(event) => setSkip(event.currentTarget.checked)} />
          {bring.isError && <Trouble error={bring.error} />}
          <Group justify="flex-end">
            <Button variant="default" onClick={onClose}>
              Leave it
            </Button>
            <Button disabled={file === null} loading={bring.isPending} onClick={() => file && bring.mutate(file)}>
              Import
            </Button>
          </Group>
        </Stack>
      )}
    </Modal>
  );
}

function Outcome({ done, onClose, onAnother }: { done: Schemas["ImportedBody"]; onClose: () => void; onAnother: () => void }) {
  const stored = done.created + done.updated + done.unchanged;
  return (
    <Stack data-imported>
      <Alert color={stored > 0 ? "green" : "orange"} icon={<CircleCheck aria-hidden />} title={`${many(stored, "article")} stored`}>
        {count(done.created)} new, {count(done.updated)} updated, {count(done.unchanged)} as they were.
        {done.notEmbedded > 0 && ` ${count(done.notEmbedded)} could not be embedded.`}{" "}
        {done.jobId !== null && (
          <GoTo to="/jobs/$jobId" params={{ jobId: String(done.jobId) }} size="sm" underline="always">
            Their embeddings are job {done.jobId}.
          </GoTo>
        )}
      </Alert>
      {done.refusedCount > 0 && (
        <div>
          <Text fw={600}>{count(done.refusedCount)} refused</Text>
          {done.refusedCount > done.refused.length && (
            <Text size="sm" c="dimmed">
              The first {count(done.refused.length)} of them:
            </Text>
          )}
          <Wide minWidth={280} maxHeight={280}>
            <Table fz="sm" aria-label="What was refused">
              <Table.Thead>
                <Table.Tr>
                  <Table.Th>Where</Table.Th>
                  <Table.Th>Why</Table.Th>
                </Table.Tr>
              </Table.Thead>
              <Table.Tbody>
                {done.refused.map((one, index) => (
                  <Table.Tr key={index}>
                    <Table.Td className="stored">{one.where}</Table.Td>
                    <Table.Td className="stored">{one.why}</Table.Td>
                  </Table.Tr>
                ))}
              </Table.Tbody>
            </Table>
          </Wide>
        </div>
      )}
      <Group justify="flex-end">
        <Button variant="default" onClick={onAnother}>
          Import another file
        </Button>
        <Button onClick={onClose}>Done</Button>
      </Group>
    </Stack>
  );
}
