import { Empty } from "~/blocks/Empty";
import { GoToButton } from "~/blocks/links";
import { Page } from "~/blocks/Page";

export function NotFound() {
  return (
    <Page title="Nothing here">
      <Empty kind="nothing" title="There is no screen at this address" action={<GoToButton to="/">To the overview</GoToButton>}>
        What it showed may have been deleted, or belongs to somebody else.
      </Empty>
    </Page>
  );
}
