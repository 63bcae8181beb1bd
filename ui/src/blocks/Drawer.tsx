import { CloseButton, Drawer as MantineDrawer, Group } from "@mantine/core";
import type { ReactNode } from "react";

type Props = { title: ReactNode; actions?: ReactNode; onClose: () => void; children: ReactNode };

/** Beside the list that it belongs to, which stays usable; Escape closes it. Open while it is rendered: the address says so. */
export function Drawer({ title, actions, onClose, children }: Props) {
  return (
    <MantineDrawer.Root opened onClose={onClose} position="right" size="min(640px, 100vw)" trapFocus={false} lockScroll={false} returnFocus>
      <MantineDrawer.Content ref={notModal}>
        <MantineDrawer.Header>
          <MantineDrawer.Title className="stored" fw={650}>
            {title}
          </MantineDrawer.Title>
          <Group gap="xs" wrap="nowrap">
            {actions}
            <CloseButton onClick={onClose} aria-label="Close" />
          </Group>
        </MantineDrawer.Header>
        <MantineDrawer.Body>{children}</MantineDrawer.Body>
      </MantineDrawer.Content>
    </MantineDrawer.Root>
  );
}

/** Mantine calls every drawer modal; what is beside this one can be used, and keys are heard. */
function notModal(content: HTMLElement | null): void {
  content?.setAttribute("aria-modal", "false");
}
