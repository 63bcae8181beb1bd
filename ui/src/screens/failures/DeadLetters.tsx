import { Tabs } from "@mantine/core";
import { getRouteApi } from "@tanstack/react-router";
import { GoToButton } from "~/blocks/links";
import { Page } from "~/blocks/Page";
import { useMe } from "~/shell/me";
import { Letters } from "./Letters";
import { Messages } from "./Messages";

const route = getRouteApi("/dead-letters");

export function DeadLetters() {
  const { tab } = route.useSearch();
  const navigate = route.useNavigate();
  const admin = useMe().role === "admin";
  return (
    <Page
      title="Dead letters"
      about="Items that failed for good. Look at one, change it, run it again; or all that match, one first."
      actions={
        <GoToButton to="/errors" variant="default">
          By kind of error
        </GoToButton>
      }
    >
      {admin ? (
        <Tabs value={tab ?? "items"} onChange={(value) => void navigate({ search: { tab: value === "messages" ? value : undefined } })} keepMounted={false}>
          <Tabs.List mb="sm">
            <Tabs.Tab value="items">Items</Tabs.Tab>
            <Tabs.Tab value="messages">Messages of brokers</Tabs.Tab>
          </Tabs.List>
          <Tabs.Panel value="items">
            <Letters />
          </Tabs.Panel>
          <Tabs.Panel value="messages">
            <Messages />
          </Tabs.Panel>
        </Tabs>
      ) : (
        <Letters />
      )}
    </Page>
  );
}
