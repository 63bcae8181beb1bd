import { Page } from "~/blocks/Page";

export function Item() {
  return <Page title="Item">Not built yet.</Page>;
}
