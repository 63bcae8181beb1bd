import { Page } from "~/blocks/Page";

export function Jobs() {
  return <Page title="Jobs">Not built yet.</Page>;
}
