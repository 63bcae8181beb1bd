import { Page } from "~/blocks/Page";

export function Settings() {
  return <Page title="Settings">Not built yet.</Page>;
}
