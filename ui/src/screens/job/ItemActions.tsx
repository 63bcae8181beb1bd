import { Button, Group } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { Ban, PencilLine, RotateCcw } from "lucide-react";
import { useState } from "react";
import { api, ask } from "~/api/client";
import { tellDone } from "~/api/queries";
import { Confirm } from "~/blocks/Confirm";
import { Allowed } from "~/shell/Allowed";
import { useMoves } from "~/shell/moves";
import { EditItem } from "./EditItem";
import { copyOf } from "./tries";
import type { ItemDetail } from "./useItem";

type Props = {
  item: ItemDetail;
  /** Goes to the copy that runs in place of an edited item. */
  onCopy?: (itemId: number) => void;
};

export function ItemActions({ item, onCopy }: Props) {
  const [asked, setAsked] = useState<"cancel" | "edit" | null>(null);
  const { itemId, jobId, status, owner } = item;
  const touches = [["item", itemId], ["job", jobId], ["jobs"]];
  const again = useMutation({
    mutationFn: async () => {
      if (jobId === null) await ask(api.POST("/api/dead-letters/{taskId}/replay", { params: { path: { taskId: itemId } }, body: null }));
      else
        await ask(
          api.POST("/api/jobs/{jobId}/reprocess", {
            params: { path: { jobId } },
            body: { scope: "items", itemIds: [itemId], resetAttempts: true },
          }),
        );
    },
    meta: { touches },
    onSuccess: () => tellDone(`Item ${itemId} is started again.`),
  });
  const cancel = useMutation({
    mutationFn: () => ask(api.POST("/api/tasks/{taskId}/cancel", { params: { path: { taskId: itemId } } })),
    meta: { touches },
    onSuccess: (ended) => tellDone(ended.status === "CANCELLED" ? `Item ${itemId} is cancelled.` : `Item ${itemId} was asked to stop.`),
  });
  const refused = useMoves(item);
  // Without a job there is the replay of dead letters.
  const starts = jobId === null ? "replay" : item.moves.includes("hasten") ? "hasten" : "reprocess";
  return (
    <Group gap="xs" mb="md">
      <Allowed role="operator" owner={owner} unless={refused(starts, notAgain(item))}>
        <Button size="xs" variant="default" leftSection={<RotateCcw size={14} aria-hidden />} loading={again.isPending} onClick={() => again.mutate()}>
          {status === "PENDING" ? "Try now" : "Run again"}
        </Button>
      </Allowed>
      <Allowed role="operator" owner={owner} unless={refused("edit", notEdited(item))}>
        <Button size="xs" variant="default" leftSection={<PencilLine size={14} aria-hidden />} onClick={() => setAsked("edit")}>
          Edit and run again
        </Button>
      </Allowed>
      <Allowed role="operator" owner={owner} unless={refused("cancel", "It has ended already.")}>
        <Button size="xs" variant="default" leftSection={<Ban size={14} aria-hidden />} onClick={() => setAsked("cancel")}>
          Cancel
        </Button>
      </Allowed>
      {asked === "cancel" && (
        <Confirm title={`Cancel item ${itemId}?`} verb="Cancel item" danger onConfirm={() => cancel.mutateAsync()} onClose={() => setAsked(null)}>
          {status === "PROCESSING" ? "It runs now and will be asked to stop." : "It will end as cancelled and not be started."} It can be run again later.
        </Confirm>
      )}
      {asked === "edit" && <EditItem item={item} onCopy={onCopy} onClose={() => setAsked(null)} />}
    </Group>
  );
}

function notEdited(item: ItemDetail): string {
  return copyOf(item) === null ? "Only what failed, was not found or was skipped can be edited." : "It was edited; edit its copy.";
}

function notAgain(item: ItemDetail): string {
  if (item.status === "PROCESSING") return "It runs now.";
  if (copyOf(item) !== null) return "It was edited; run its copy again.";
  return item.jobId === null ? "Of items without a job only failed ones are run again." : "It is a part of an action, which runs once.";
}
