import { Button, Group, Modal, NumberInput, Select, Stack, Text, TextInput } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { Ban, Pencil, Trash2 } from "lucide-react";
import { useState, type FormEvent } from "react";
import { api, ask, type Schemas } from "~/api/client";
import { tellDone } from "~/api/queries";
import { Confirm } from "~/blocks/Confirm";
import { duration } from "~/blocks/wording";
import { Allowed } from "~/shell/Allowed";
import { rateWords } from "./limitWords";

type Limit = Schemas["LimitItem"];

const META = { touches: [["object", "limit"]] };
const UNITS = { second: 1, minute: 60, hour: 3600 } as const;
type Unit = keyof typeof UNITS;

/** Change, close for a while, remove. */
export function LimitActions({ limit }: { limit: Limit }) {
  const [asking, setAsking] = useState<"change" | "block" | "remove" | null>(null);
  const close = () => setAsking(null);
  const remove = useMutation({
    mutationFn: () => ask(api.DELETE("/api/limits", { params: { query: { key: limit.key } } })),
    meta: META,
    onSuccess: () => tellDone(`${limit.key} is not limited any more.`),
  });
  return (
    <Group gap="xs" wrap="nowrap" justify="flex-end">
      <Allowed role="operator">
        <Button size="xs" variant="default" leftSection={<Pencil size={14} aria-hidden />} onClick={() => setAsking("change")}>
          Change
        </Button>
      </Allowed>
      <Allowed role="operator">
        <Button size="xs" variant="default" leftSection={<Ban size={14} aria-hidden />} onClick={() => setAsking("block")}>
          Block
        </Button>
      </Allowed>
      <Allowed role="operator">
        <Button size="xs" variant="default" leftSection={<Trash2 size={14} aria-hidden />} onClick={() => setAsking("remove")}>
          Remove
        </Button>
      </Allowed>
      {asking === "change" && <LimitForm limit={limit} onClose={close} />}
      {asking === "block" && <BlockForm limit={limit} onClose={close} />}
      {asking === "remove" && (
        <Confirm title={`Remove the limit of ${limit.key}?`} verb="Remove limit" danger onConfirm={() => remove.mutateAsync()} onClose={close}>
          {limit.rate === null ? "It is open again at once." : `Calls go out without a limit from then on; now it is ${rateWords(limit.rate)}.`}
          {limit.circuit !== null && " That it stops after failures goes, too."}
        </Confirm>
      )}
    </Group>
  );
}

function unitOf(rate: number): Unit {
  return rate >= 1 || rate === 0 ? "second" : rate * 60 >= 1 ? "minute" : "hour";
}

/** A new limit, or another one for a key. */
export function LimitForm({ limit, onClose }: { limit?: Limit; onClose: () => void }) {
  const [key, setKey] = useState(limit?.key ?? "");
  const [unit, setUnit] = useState<Unit>(unitOf(limit?.rate ?? 1));
  const [rate, setRate] = useState<number | "">(limit?.rate ? Number((limit.rate * UNITS[unitOf(limit.rate)]).toPrecision(6)) : "");
  const [burst, setBurst] = useState<number | "">(limit?.burst ?? 1);
  const [failures, setFailures] = useState<number | "">(limit?.circuitFailures ?? "");
  const [pause, setPause] = useState<number | "">(limit?.circuitSeconds ?? "");
  const hadCircuit = limit?.circuitFailures !== null && limit?.circuitFailures !== undefined;
  const save = useMutation({
    mutationFn: () =>
      ask(
        api.PUT("/api/limits", {
          body: {
            key: key.trim(),
            rate: Number(rate) / UNITS[unit],
            burst: burst === "" ? 1 : burst,
            circuitFailures: failures === "" ? (hadCircuit ? 0 : null) : failures,
            circuitSeconds: failures === "" ? null : pause === "" ? 30 : pause,
          },
        }),
      ),
    meta: META,
    onSuccess: () => {
      tellDone(`${key.trim()} is limited to ${rateWords(Number(rate) / UNITS[unit])}.`);
      onClose();
    },
  });
  function submit(event: FormEvent): void {
    event.preventDefault();
    if (key.trim() !== "" && rate !== "" && rate > 0) save.mutate();
  }
  return (
    <Modal opened onClose={onClose} title={limit ? `Limit of ${limit.key}` : "Set a limit"} closeButtonProps={{ "aria-label": "Close" }}>
      <form onSubmit={submit}>
        <Stack>
          {!limit && (
            <TextInput
              label="Key"
              description="What handlers ask for, such as a provider or a host."
              required
              maxLength={500}
              value={key}
              onChange={(event) => setKey(event.currentTarget.value)}
              data-autofocus
            />
          )}
          <Group grow align="flex-end">
            <NumberInput label="Permits" required min={0} decimalScale={6} value={rate} onChange={(value) => setRate(typeof value === "number" ? value : "")} />
            <Select
              label="per"
              data={Object.keys(UNITS)}
              value={unit}
              allowDeselect={false}
              onChange={(value) => setUnit((value as Unit | null) ?? "second")}
            />
          </Group>
          <NumberInput
            label="At once"
            description="Calls that may start at once after a rest."
            min={1}
            max={1_000_000}
            allowDecimal={false}
            value={burst}
            onChange={(value) => setBurst(typeof value === "number" ? value : "")}
          />
          <Group grow align="flex-start">
            <NumberInput
              label="Stop after"
              description="Failures in a row; empty: none"
              min={1}
              allowDecimal={false}
              value={failures}
              onChange={(value) => setFailures(typeof value === "number" ? value : "")}
            />
            <NumberInput
              label="and wait"
              description="Seconds, then one call tries"
              min={0.1}
              value={pause}
              disabled={failures === ""}
              onChange={(value) => setPause(typeof value === "number" ? value : "")}
            />
          </Group>
          <Group justify="flex-end">
            <Button variant="default" onClick={onClose}>
              Leave it
            </Button>
            <Button type="submit" loading={save.isPending}>
              {limit ? "Change limit" : "Set limit"}
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}

function BlockForm({ limit, onClose }: { limit: Limit; onClose: () => void }) {
  const [seconds, setSeconds] = useState<number | "">(60);
  const [reason, setReason] = useState("");
  const block = useMutation({
    mutationFn: () =>
      ask(api.POST("/api/limits/block", { body: { key: limit.key, seconds: seconds === "" ? 0 : seconds, reason: reason.trim() || null } })),
    meta: META,
    onSuccess: (blocked) => tellDone(`${limit.key} is blocked for ${duration(blocked.blockedSeconds)}.`),
  });
  return (
    <Confirm title={`Block ${limit.key}?`} verb="Block" waits={seconds === "" || seconds <= 0} onConfirm={() => block.mutateAsync()} onClose={onClose}>
      <Stack gap="sm">
        <Text size="sm">Nobody in the fleet gets a permit until then, and items that need one wait in the queue. A block that ends later stays.</Text>
        <NumberInput label="Seconds" min={1} value={seconds} onChange={(value) => setSeconds(typeof value === "number" ? value : "")} />
        <TextInput label="Reason" maxLength={500} value={reason} onChange={(event) => setReason(event.currentTarget.value)} />
      </Stack>
    </Confirm>
  );
}
