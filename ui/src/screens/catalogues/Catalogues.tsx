import { Tabs } from "@mantine/core";
import { getRouteApi } from "@tanstack/react-router";
import { Boxes, Store, Upload } from "lucide-react";
import { GoToButton } from "~/blocks/links";
import { Everybodys } from "~/blocks/Everybodys";
import { Page } from "~/blocks/Page";
import { useWhose } from "~/shell/me";
import { Lists } from "./Lists";
import { Providers } from "./Providers";
import { Allowed } from "~/shell/Allowed";

const route = getRouteApi("/catalogues");

export function Catalogues() {
  const { tab, everybody } = route.useSearch();
  const navigate = route.useNavigate();
  const userId = useWhose(everybody);
  return (
    <Page
      title="Catalogues"
      about="Lists of products that were looked up, and who was asked."
      actions={
        <>
          {tab === undefined && <Everybodys checked={everybody} onChange={(chosen) => void navigate({ search: (was) => ({ ...was, everybody: chosen }) })} />}
          <Allowed role="operator">
            <GoToButton to="/upload" search={{ pipeline: "catalogue" }} leftSection={<Upload size={14} aria-hidden />}>
              Upload a list
            </GoToButton>
          </Allowed>
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
          <Lists everybody={userId === "all"} />
        </Tabs.Panel>
        <Tabs.Panel value="providers">
          <Providers />
        </Tabs.Panel>
      </Tabs>
    </Page>
  );
}
