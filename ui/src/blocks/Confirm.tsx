import { Button, Group, Modal, Stack } from "@mantine/core";
import { useState, type ReactNode } from "react";

type Props = {
  title: string;
  /** What will happen, in numbers where there are any. */
  children: ReactNode;
  /** The verb on the button: "Cancel job", never "OK". */
  verb: string;
  danger?: boolean;
  /** Set: the button waits, e.g. for a dry run. */
  waits?: boolean;
  onConfirm: () => Promise<unknown>;
  onClose: () => void;
};

/** Asks before something that cannot be taken back, or concerns many. Open while it is rendered. */
export function Confirm({ title, children, verb, danger, waits, onConfirm, onClose }: Props) {
  const [busy, setBusy] = useState(false);
  async function confirm(): Promise<void> {
    setBusy(true);
    try {
      await onConfirm();
      onClose();
    } catch {
      // Told by whoever asked the service.
    } finally {
      setBusy(false);
    }
  }
  return (
    <Modal opened onClose={onClose} title={title} closeButtonProps={{ "aria-label": "Close" }}>
      <Stack>
        <div>{children}</div>
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose}>
            Leave it
          </Button>
          <Button color={danger ? "red.9" : undefined} loading={busy} disabled={waits} onClick={() => void confirm()} data-autofocus>
            {verb}
          </Button>
        </Group>
      </Stack>
    </Modal>
  );
}
