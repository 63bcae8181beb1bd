import { Switch, Tabs } from "@mantine/core";
import { getRouteApi } from "@tanstack/react-router";
import { Boxes, Store, Upload } from "lucide-react";
import { GoToButton } from "~/blocks/links";
import { Page } from "~/blocks/Page";
import { useMe } from "~/shell/me";
import { Lists } from "./Lists";
import { Providers } from "./Providers";

const route = getRouteApi("/catalogues");

export function Catalogues() {
  const { tab, everybody } = route.useSearch();
  const navigate = route.useNavigate();
  const admin = useMe().role === "admin";
  return (
    <Page
      title="Catalogues"
      about="Lists of products that were looked up, and who was asked."
      actions={
        <>
          {admin && tab === undefined && (
            <Switch
              label="Everybody's"
              checked={everybody ?? false}
              onChange={(event) => {
                const all = event.currentTarget.checked || undefined;
                void navigate({ search: (was) => ({ ...was, everybody: all }) });
              }}
            />
          )}
          <GoToButton to="/upload" search={{ pipeline: "catalogue" }} leftSection={<Upload size={14} aria-hidden />}>
            Upload a list
          </GoToButton>
        </>
      }
    >
      <Tabs value={tab ?? "lists"} onChange={(value) => void navigate({ search: (was) => ({ ...was, tab: value === "providers" ? "providers" : undefined }) })} keepMounted={false}>
        <Tabs.List mb="md">
          <Tabs.Tab value="lists" leftSection={<Boxes size={14} aria-hidden />}>
            Lists
          </Tabs.Tab>
          <Tabs.Tab value="providers" leftSection={<Store size={14} aria-hidden />}>
            Providers
          </Tabs.Tab>
        </Tabs.List>
        <Tabs.Panel value="lists">
          <Lists everybody={admin && (everybody ?? false)} />
        </Tabs.Panel>
        <Tabs.Panel value="providers">
          <Providers />
        </Tabs.Panel>
      </Tabs>
    </Page>
  );
}
