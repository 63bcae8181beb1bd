import { Page } from "~/blocks/Page";

export function Job() {
  return <Page title="Job">Not built yet.</Page>;
}
