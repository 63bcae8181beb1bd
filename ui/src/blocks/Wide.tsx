import { Table } from "@mantine/core";
import type { ReactNode } from "react";

/** A table that scrolls sideways where there is no room, by keyboard as well. */
export function Wide({ minWidth, maxHeight, children }: { minWidth: number; maxHeight?: number; children: ReactNode }) {
  return (
    <Table.ScrollContainer minWidth={minWidth} maxHeight={maxHeight} scrollAreaProps={{ viewportProps: { tabIndex: 0 } }}>
      {children}
    </Table.ScrollContainer>
  );
}
