import { Group, Stack, Title } from "@mantine/core";
import type { ReactNode } from "react";

type Props = { title: string; actions?: ReactNode; children: ReactNode };

/** A part of a page with a heading of its own, which screen readers list as a region. */
export function Part({ title, actions, children }: Props) {
  return (
    <Stack gap="xs" component="section" aria-label={title} miw={0}>
      <Group justify="space-between">
        <Title order={2}>{title}</Title>
        {actions}
      </Group>
      {children}
    </Stack>
  );
}
