import { Button, Group, JsonInput, Modal, ScrollArea, Stack, Text, Textarea } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { api, ask } from "~/api/client";
import { tellDone } from "~/api/queries";
import { Trouble } from "~/blocks/Trouble";
import { isRecord } from "./reading";
import type { ItemDetail } from "./useItem";
import { useJob } from "./useJob";

type Props = { item: ItemDetail; onCopy?: (itemId: number) => void; onClose: () => void };

/** A failed item with another input: the row's columns as fields where it has some, else the input as JSON. */
export function EditItem({ item, onCopy, onClose }: Props) {
  const columns = useJob(item.jobId).data?.columns ?? [];
  const input = isRecord(item.input) ? item.input : {};
  const isRow = Array.isArray(input.cells);
  const [cells, setCells] = useState<string[]>(() => (Array.isArray(input.cells) ? input.cells.map((cell) => String(cell)) : []));
  const [json, setJson] = useState(() => JSON.stringify(item.input, null, 2));
  const edited = isRow ? { ...input, cells } : parsed(json);
  const save = useMutation({
    mutationFn: () => ask(api.PATCH("/api/dead-letters/{taskId}", { params: { path: { taskId: item.itemId } }, body: { input: edited ?? {} } })),
    meta: { ownProblem: true, touches: [["item", item.itemId], ["job", item.jobId], ["jobs"]] },
    onSuccess: (copy) => {
      tellDone(`Item ${copy.itemId} runs in place of ${copy.replaces}.`);
      onClose();
      onCopy?.(copy.itemId);
    },
  });
  return (
    <Modal opened onClose={onClose} title={`Edit item ${item.itemId}`} size="lg" closeButtonProps={{ "aria-label": "Close" }}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (edited !== null) save.mutate();
        }}
      >
        <Stack>
          <Text size="sm">A copy with this input runs in its place; the failed item is closed and keeps its history.</Text>
          {isRow ? (
            <ScrollArea.Autosize mah="50vh">
              <Stack gap="xs">
                {cells.map((cell, index) => (
                  <Textarea
                    key={index}
                    label={<span className="stored">{columns[index] ?? `Column ${index + 1}`}</span>}
                    autosize
                    maxRows={6}
                    value={cell}
                    onChange={(event) => {
                      const value = event.currentTarget.value;
                      setCells((was) => was.map((one, at) => (at === index ? value : one)));
                    }}
                  />
                ))}
              </Stack>
            </ScrollArea.Autosize>
          ) : (
            <JsonInput label="Input" value={json} onChange={setJson} autosize minRows={6} maxRows={20} validationError="This is no JSON object" error={edited === null && "This is no JSON object"} />
          )}
          {save.isError && <Trouble error={save.error} />}
          <Group justify="flex-end">
            <Button variant="default" onClick={onClose}>
              Leave it
            </Button>
            <Button type="submit" loading={save.isPending} disabled={edited === null}>
              Run with this input
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}

function parsed(json: string): Record<string, unknown> | null {
  try {
    const read: unknown = JSON.parse(json);
    return isRecord(read) ? read : null;
  } catch {
    return null;
  }
}
