import { Page } from "~/blocks/Page";

export function DeadLetters() {
  return <Page title="DeadLetters">Not built yet.</Page>;
}
