import { Page } from "~/blocks/Page";

export function Limits() {
  return <Page title="Limits">Not built yet.</Page>;
}
