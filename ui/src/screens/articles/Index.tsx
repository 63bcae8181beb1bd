import { Page } from "~/blocks/Page";

export function Index() {
  return <Page title="Index">Not built yet.</Page>;
}
