import { Page } from "~/blocks/Page";

export function Catalogue() {
  return <Page title="Catalogue">Not built yet.</Page>;
}
