import { Page } from "~/blocks/Page";

export function SearchPage() {
  return <Page title="SearchPage">Not built yet.</Page>;
}
