import { Button, Group, Modal, Stack, Text, TextInput } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { api, ask } from "~/api/client";
import { tellDone } from "~/api/queries";

type Props = { pipeline: string; stage: string; onClose: () => void };

/** From the palette: pauses a stage, with the reason that whoever waits is told. */
export function PauseStage({ pipeline, stage, onClose }: Props) {
  const [reason, setReason] = useState("");
  const pause = useMutation({
    mutationFn: () =>
      ask(api.POST("/api/stages/{pipeline}/{stage}/pause", { params: { path: { pipeline, stage } }, body: { reason: reason.trim() || null } })),
    meta: { touches: [["stages"], ["overview"]] },
    onSuccess: () => {
      tellDone(`Stage ${stage} is paused.`);
      onClose();
    },
  });
  return (
    <Modal opened onClose={onClose} title={`Pause stage ${stage}`} closeButtonProps={{ "aria-label": "Close" }}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          pause.mutate();
        }}
      >
        <Stack>
          <Text size="sm">Nothing more of it is started, for everybody, until somebody resumes it. What runs is finished.</Text>
          <TextInput label="Reason" description="Shown to whoever asks why." value={reason} onChange={(event) => setReason(event.currentTarget.value)} maxLength={500} data-autofocus />
          <Group justify="flex-end">
            <Button variant="default" onClick={onClose}>
              Leave it
            </Button>
            <Button type="submit" loading={pause.isPending}>
              Pause stage
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}
