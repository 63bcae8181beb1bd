import { Page } from "~/blocks/Page";

export function Stage() {
  return <Page title="Stage">Not built yet.</Page>;
}
