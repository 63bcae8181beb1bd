import { Page } from "~/blocks/Page";

export function Errors() {
  return <Page title="Errors">Not built yet.</Page>;
}
