import { Page } from "~/blocks/Page";

export function Upload() {
  return <Page title="Upload">Not built yet.</Page>;
}
