import { Page } from "~/blocks/Page";

export function Projects() {
  return <Page title="Projects">Not built yet.</Page>;
}
