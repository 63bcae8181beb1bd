import { Page } from "~/blocks/Page";

export function Analysis() {
  return <Page title="Analysis">Not built yet.</Page>;
}
