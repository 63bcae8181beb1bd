import { Page } from "~/blocks/Page";

export function NewProject() {
  return <Page title="NewProject">Not built yet.</Page>;
}
