import { NumberInput, Select, Stack } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { api, ask, type Schemas } from "~/api/client";
import { tellDone } from "~/api/queries";
import { Confirm } from "~/blocks/Confirm";
import { many } from "~/blocks/wording";

type Category = Schemas["Category"];

const CATEGORIES: { value: Category; label: string }[] = [
  { value: "transient", label: "The provider did not answer" },
  { value: "configuration", label: "Configuration" },
  { value: "resource", label: "Memory, disk or quota" },
  { value: "data", label: "The text was refused" },
];

export function RetryDialog({ failed, onClose }: { failed: number; onClose: () => void }) {
  const [category, setCategory] = useState<Category | null>(null);
  const retry = useMutation({
    mutationFn: () => ask(api.POST("/api/article-index/retry-failed", { body: { category } })),
    meta: { touches: [["object", "article"]] },
    onSuccess: (done) => tellDone(`${many(done.retried, "failed embedding")} started again.`),
  });
  return (
    <Confirm title="Run failed embeddings again?" verb="Run again" waits={failed === 0} onConfirm={() => retry.mutateAsync()} onClose={onClose}>
      <Stack>
        <span>
          {failed === 0
            ? "No embedding has failed."
            : `${many(failed, "embedding")} failed in all. They start again with all their tries, or only those of one kind.`}
        </span>
        <Select
          label="Why they failed"
          placeholder="Any reason"
          clearable
          clearButtonProps={{ "aria-label": "Any reason" }}
          data={CATEGORIES}
          value={category}
          onChange={(value) => setCategory(CATEGORIES.find((one) => one.value === value)?.value ?? null)}
        />
      </Stack>
    </Confirm>
  );
}

export function ClearDialog({ completed, onClose }: { completed: number; onClose: () => void }) {
  const [days, setDays] = useState<number | string>(30);
  const clear = useMutation({
    mutationFn: () => ask(api.POST("/api/article-index/clear", { body: { olderThanDays: Number(days) } })),
    meta: { touches: [["object", "article"]] },
    onSuccess: (done) => tellDone(`${many(done.cleared, "completed task")} cleared.`),
  });
  return (
    <Confirm title="Clear completed tasks?" verb="Clear them" danger waits={days === "" || completed === 0} onConfirm={() => clear.mutateAsync()} onClose={onClose}>
      <Stack>
        <span>{many(completed, "completed task")} are kept now. Those that ended longer ago are forgotten; articles and vectors stay.</span>
        <NumberInput label="Older than, in days" min={0} max={36_500} value={days} onChange={setDays} />
      </Stack>
    </Confirm>
  );
}
