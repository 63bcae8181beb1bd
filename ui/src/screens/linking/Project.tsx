import { Page } from "~/blocks/Page";

export function Project() {
  return <Page title="Project">Not built yet.</Page>;
}
