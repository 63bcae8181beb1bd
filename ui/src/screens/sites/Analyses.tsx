import { Page } from "~/blocks/Page";

export function Analyses() {
  return <Page title="Analyses">Not built yet.</Page>;
}
