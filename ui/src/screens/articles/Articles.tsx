import { Page } from "~/blocks/Page";

export function Articles() {
  return <Page title="Articles">Not built yet.</Page>;
}
