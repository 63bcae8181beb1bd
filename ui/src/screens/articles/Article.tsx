import { Page } from "~/blocks/Page";

export function Article() {
  return <Page title="Article">Not built yet.</Page>;
}
