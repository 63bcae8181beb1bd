import { Page } from "~/blocks/Page";

export function Workers() {
  return <Page title="Workers">Not built yet.</Page>;
}
