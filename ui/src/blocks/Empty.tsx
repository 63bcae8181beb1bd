import { Stack, Text, Title } from "@mantine/core";
import { Inbox, SearchX, type LucideIcon } from "lucide-react";
import type { ReactNode } from "react";

type Props = {
  /** "nothing": there is none yet; "filtered": there are some, the filters hide them. They never look the same. */
  kind: "nothing" | "filtered";
  title: string;
  children?: ReactNode;
  /** The one next step, e.g. a button. */
  action?: ReactNode;
};

const ICONS: Record<Props["kind"], LucideIcon> = { nothing: Inbox, filtered: SearchX };

export function Empty({ kind, title, children, action }: Props) {
  const Icon = ICONS[kind];
  return (
    <Stack align="center" gap="xs" py="xl" px="md" ta="center" data-empty={kind}>
      <Icon size={36} strokeWidth={1.25} aria-hidden />
      <Title order={2} size="h3">
        {title}
      </Title>
      {children && (
        <Text c="dimmed" maw={480} component="div">
          {children}
        </Text>
      )}
      {action}
    </Stack>
  );
}
