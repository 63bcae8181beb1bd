import { Page } from "~/blocks/Page";

export function Audit() {
  return <Page title="Audit">Not built yet.</Page>;
}
