import { Button } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { Empty } from "~/blocks/Empty";
import { Page } from "~/blocks/Page";

export function NotFound() {
  return (
    <Page title="Nothing here">
      <Empty kind="nothing" title="There is no screen at this address" action={<Button component={Link} to="/">To the overview</Button>}>
        What it showed may have been deleted, or belongs to somebody else.
      </Empty>
    </Page>
  );
}
