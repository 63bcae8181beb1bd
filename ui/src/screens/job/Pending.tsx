import { Page } from "~/blocks/Page";

export function Pending() {
  return <Page title="Pending">Not built yet.</Page>;
}
