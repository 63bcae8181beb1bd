import { Page } from "~/blocks/Page";

export function Catalogues() {
  return <Page title="Catalogues">Not built yet.</Page>;
}
