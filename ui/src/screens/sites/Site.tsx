import { Page } from "~/blocks/Page";

export function Site() {
  return <Page title="Site">Not built yet.</Page>;
}
