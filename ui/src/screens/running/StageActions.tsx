import { ActionIcon, Button, Group, Modal, NumberInput, Stack, Text, TextInput } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { Gauge, Pause, Play, type LucideIcon } from "lucide-react";
import { useState } from "react";
import { api, ask } from "~/api/client";
import { tellDone } from "~/api/queries";
import { Confirm } from "~/blocks/Confirm";
import { count, many } from "~/blocks/wording";
import { Allowed } from "~/shell/Allowed";
import { stageName, type Stage } from "./wording";

const TOUCHES = [["stages"], ["overview"]];

/** Pause or resume, and the limit, of one stage. */
export function StageActions({ stage, compact }: { stage: Stage; compact?: boolean }) {
  const [asking, setAsking] = useState<"pause" | "limit" | null>(null);
  const name = stageName(stage);
  const params = { path: { pipeline: stage.pipeline, stage: stage.stage } };
  const resume = useMutation({
    mutationFn: () => ask(api.POST("/api/stages/{pipeline}/{stage}/resume", { params })),
    meta: { touches: TOUCHES },
    onSuccess: () => tellDone(`${name} goes on.`),
  });
  return (
    <Group gap="xs" wrap="nowrap">
      <Allowed role="operator">
        {stage.pausedAt ? (
          <Deed name="Resume" icon={Play} compact={compact} loading={resume.isPending} onClick={() => resume.mutate()} />
        ) : (
          <Deed name="Pause" icon={Pause} compact={compact} onClick={() => setAsking("pause")} />
        )}
      </Allowed>
      <Allowed role="operator">
        <Deed name="Limit" icon={Gauge} compact={compact} onClick={() => setAsking("limit")} />
      </Allowed>
      {asking === "pause" && <PauseQuestion stage={stage} onClose={() => setAsking(null)} />}
      {asking === "limit" && <LimitForm stage={stage} onClose={() => setAsking(null)} />}
    </Group>
  );
}

type DeedProps = { name: string; icon: LucideIcon; compact?: boolean; loading?: boolean; onClick: () => void; disabled?: boolean };

/** A button with its word, or in a row of a table its icon alone. */
function Deed({ name, icon: Icon, compact, ...button }: DeedProps) {
  if (!compact)
    return (
      <Button size="sm" variant="default" leftSection={<Icon size={14} aria-hidden />} {...button}>
        {name}
      </Button>
    );
  return (
    <ActionIcon variant="default" size="lg" aria-label={name} title={name} {...button}>
      <Icon size={16} aria-hidden />
    </ActionIcon>
  );
}

function PauseQuestion({ stage, onClose }: { stage: Stage; onClose: () => void }) {
  const [reason, setReason] = useState("");
  const pause = useMutation({
    mutationFn: () =>
      ask(
        api.POST("/api/stages/{pipeline}/{stage}/pause", {
          params: { path: { pipeline: stage.pipeline, stage: stage.stage } },
          body: { reason: reason.trim() || null },
        }),
      ),
    meta: { touches: TOUCHES },
    onSuccess: () => tellDone(`${stageName(stage)} is paused.`),
  });
  return (
    <Confirm title={`Pause ${stageName(stage)}?`} verb="Pause stage" onConfirm={() => pause.mutateAsync()} onClose={onClose}>
      <Stack gap="sm">
        <Text size="sm">
          {many(stage.waiting, "item")} and all that come stay where they are. The {count(stage.running)} that run now go on to their end.
        </Text>
        <TextInput
          label="Reason"
          description="Shown to everybody who asks why nothing moves."
          value={reason}
          maxLength={500}
          onChange={(event) => setReason(event.currentTarget.value)}
        />
      </Stack>
    </Confirm>
  );
}

function LimitForm({ stage, onClose }: { stage: Stage; onClose: () => void }) {
  const [most, setMost] = useState<number | "">(stage.maxRunning ?? "");
  const change = useMutation({
    mutationFn: (maxRunning: number | null) =>
      ask(
        api.PATCH("/api/stages/{pipeline}/{stage}/limit", {
          params: { path: { pipeline: stage.pipeline, stage: stage.stage } },
          body: { maxRunning },
        }),
      ),
    meta: { touches: TOUCHES },
    onSuccess: (changed) => {
      tellDone(changed.maxRunning === null ? `${stageName(stage)} has no limit now.` : `At most ${count(changed.maxRunning)} of ${stageName(stage)} run at a time now.`);
      onClose();
    },
  });
  return (
    <Modal opened onClose={onClose} title={`Limit of ${stageName(stage)}`} closeButtonProps={{ "aria-label": "Close" }}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          change.mutate(most === "" ? null : most);
        }}
      >
        <Stack>
          <NumberInput
            label="Most that run at a time"
            description="Exact in the whole fleet. Empty: no limit. A limit that the code declares comes back when its worker starts."
            value={most}
            min={1}
            max={2147483647}
            allowDecimal={false}
            thousandSeparator=","
            onChange={(value) => setMost(typeof value === "number" ? value : "")}
            data-autofocus
          />
          <Group justify="flex-end">
            <Button variant="default" onClick={onClose}>
              Leave it
            </Button>
            <Button type="submit" loading={change.isPending}>
              {most === "" ? "Take the limit away" : "Set limit"}
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}
