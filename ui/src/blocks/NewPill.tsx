import { Button, Group } from "@mantine/core";
import { ArrowUp } from "lucide-react";
import { count } from "./wording";

/** What came since somebody looks: no row moves under the pointer until it is pressed. */
export function NewPill({ waiting, onShow }: { waiting: number; onShow: () => void }) {
  if (waiting <= 0) return null;
  return (
    <Group justify="center">
      <Button size="xs" radius="xl" leftSection={<ArrowUp size={14} aria-hidden />} onClick={onShow} data-pill="new">
        {count(waiting)} new
      </Button>
    </Group>
  );
}
