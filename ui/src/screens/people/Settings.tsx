import { Tabs } from "@mantine/core";
import { getRouteApi } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { Empty } from "~/blocks/Empty";
import { Page } from "~/blocks/Page";
import { useMe } from "~/shell/me";
import { Features } from "./Features";
import { Retention } from "./Retention";
import { SETTINGS_TABS } from "./routes";
import { Tokens } from "./Tokens";
import { Users } from "./Users";
import { You } from "./You";

const route = getRouteApi("/settings");

const TABS: [(typeof SETTINGS_TABS)[number] | "you", string, () => ReactNode, "admin"?][] = [
  ["you", "You", You],
  ["tokens", "Tokens", Tokens],
  ["users", "Users", Users, "admin"],
  ["retention", "Retention", Retention, "admin"],
  ["features", "Features", Features, "admin"],
];

export function Settings() {
  const { tab } = route.useSearch();
  const navigate = route.useNavigate();
  const me = useMe();
  const chosen = tab ?? "you";
  return (
    <Page title="Settings">
      <Tabs
        value={chosen}
        keepMounted={false}
        onChange={(next) => void navigate({ search: { tab: SETTINGS_TABS.find((one) => one === next) }, resetScroll: false })}
      >
        <Tabs.List aria-label="Settings">
          {TABS.map(([value, name]) => (
            <Tabs.Tab key={value} value={value}>
              {name}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        {TABS.map(([value, name, Content, needs]) => (
          <Tabs.Panel key={value} value={value} pt="md">
            {needs === undefined || me.role === needs ? (
              <Content />
            ) : (
              <Empty kind="nothing" title={`${name}: for admins`}>
                This needs the role {needs}; yours is {me.role}.
              </Empty>
            )}
          </Tabs.Panel>
        ))}
      </Tabs>
    </Page>
  );
}
