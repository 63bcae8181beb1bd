import { Group, Kbd, Modal, Stack, Text } from "@mantine/core";
import { Fragment } from "react";
import { known } from "./keys";

/** `?`: every key that does something on this screen. */
export function KeySheet({ onClose }: { onClose: () => void }) {
  const keys = [...known].flat();
  return (
    <Modal opened onClose={onClose} title="Keys" closeButtonProps={{ "aria-label": "Close" }}>
      <Stack gap={6}>
        {keys.map((one) => (
          <Group key={one.keys} justify="space-between" wrap="nowrap">
            <Text size="sm">{one.does}</Text>
            <Group gap={4} wrap="nowrap">
              {one.keys.split(" ").map((key, index) => (
                <Fragment key={index}>
                  {index > 0 && <Text size="xs">then</Text>}
                  <Kbd>{shown(key)}</Kbd>
                </Fragment>
              ))}
            </Group>
          </Group>
        ))}
      </Stack>
    </Modal>
  );
}

function shown(key: string): string {
  const apple = navigator.userAgent.includes("Mac");
  return key.replace("mod+", apple ? "⌘ " : "Ctrl ").replace("Arrow", "");
}
