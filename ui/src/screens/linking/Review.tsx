import { Page } from "~/blocks/Page";

export function Review() {
  return <Page title="Review">Not built yet.</Page>;
}
