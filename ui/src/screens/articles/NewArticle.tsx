import { Page } from "~/blocks/Page";

export function NewArticle() {
  return <Page title="NewArticle">Not built yet.</Page>;
}
