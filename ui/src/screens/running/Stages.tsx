import { Page } from "~/blocks/Page";

export function Stages() {
  return <Page title="Stages">Not built yet.</Page>;
}
