import { Group, Stack, Text, Title } from "@mantine/core";
import { useEffect, type ReactNode } from "react";

type Props = { title: string; about?: ReactNode; actions?: ReactNode; children: ReactNode };

/** Every screen: one h1, which is also the title of the tab, and at its right what can be done here. */
export function Page({ title, about, actions, children }: Props) {
  useEffect(() => {
    document.title = `${title} · Penstock`;
  }, [title]);
  return (
    <Stack gap="md">
      <Group justify="space-between" align="flex-start" gap="sm">
        <Stack gap={2} miw={0} flex="1 1 240px">
          <Title order={1} className="stored">
            {title}
          </Title>
          {about && (
            <Text c="dimmed" size="sm" component="div">
              {about}
            </Text>
          )}
        </Stack>
        {actions && <Group gap="xs">{actions}</Group>}
      </Group>
      {children}
    </Stack>
  );
}
