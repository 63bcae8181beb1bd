import { Group, Kbd, Modal, Stack, Text, Title } from "@mantine/core";
import { Fragment } from "react";
import { known, type Key } from "./keys";

/** `?`: every key that does something here, those of the screen first. */
export function KeySheet({ onClose }: { onClose: () => void }) {
  const all = [...known].flat();
  const places = all.filter((one) => one.keys.startsWith("g "));
  const everywhere = all.filter((one) => one.keys === "?" || one.keys.startsWith("mod+"));
  const here = all.filter((one) => !places.includes(one) && !everywhere.includes(one));
  return (
    <Modal opened onClose={onClose} title="Keys" closeButtonProps={{ "aria-label": "Close" }}>
      <Stack gap="md">
        <Part title="On this screen" keys={here} />
        <Part title="Everywhere" keys={[...everywhere, { keys: "Escape", does: "Close what is open", act: onClose }]} />
        <Part title="Lists" keys={LISTS} />
        <Part title="Places" keys={places} />
      </Stack>
    </Modal>
  );
}

const nothing = () => undefined;
const LISTS: Key[] = [
  { keys: "j", does: "Next row, also ↓", act: nothing },
  { keys: "k", does: "Row before, also ↑", act: nothing },
  { keys: "Enter", does: "Open the row", act: nothing },
  { keys: "x", does: "Select the row, also Space", act: nothing },
];

function Part({ title, keys }: { title: string; keys: Key[] }) {
  if (keys.length === 0) return null;
  return (
    <section>
      <Title order={3} size="h5" mb={6}>
        {title}
      </Title>
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
    </section>
  );
}

function shown(key: string): string {
  const apple = navigator.userAgent.includes("Mac");
  return key.replace("mod+", apple ? "⌘ " : "Ctrl ").replace("Arrow", "").replace("Escape", "Esc");
}
