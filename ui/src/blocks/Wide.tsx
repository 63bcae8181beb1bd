import { Table } from "@mantine/core";
import type { ReactNode } from "react";
import classes from "./wide.module.css";

type Props = {
  minWidth: number;
  maxHeight?: number;
  /** The last column holds buttons: on a phone they stay in sight, one above the other. */
  deeds?: boolean;
  children: ReactNode;
};

/** A table that scrolls sideways where there is no room, by keyboard as well. */
export function Wide({ minWidth, maxHeight, deeds, children }: Props) {
  return (
    <Table.ScrollContainer minWidth={minWidth} maxHeight={maxHeight} className={deeds ? classes.deeds : undefined} scrollAreaProps={{ viewportProps: { tabIndex: 0 } }}>
      {children}
    </Table.ScrollContainer>
  );
}
