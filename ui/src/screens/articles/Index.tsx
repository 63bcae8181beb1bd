import { Button, Menu, Tabs } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { ChevronDown, Eraser, Layers, RefreshCw, RotateCw } from "lucide-react";
import { useRef } from "react";
import { api, ask } from "~/api/client";
import { Page } from "~/blocks/Page";
import { Loading, Trouble } from "~/blocks/Trouble";
import { Allowed } from "~/shell/Allowed";
import { useRefusal } from "~/shell/me";
import { useArticlesLive } from "./articleEvents";
import { BuildDialog } from "./BuildDialog";
import { Filling } from "./Filling";
import { Figures } from "./Figures";
import { Generations } from "./Generations";
import { ReindexDialog } from "./ReindexDialog";
import { INDEX_TABS, type INDEX_DIALOGS } from "./routes";
import { SavedQueries } from "./SavedQueries";
import { Tasks } from "./Tasks";
import { ClearDialog, RetryDialog } from "./Upkeep";

const TOLD_AGAIN_MS = 1500;
const NAMES = { generations: "Generations", tasks: "Tasks", queries: "Saved queries" };

/** The index of all articles: how much of it is there, what fills it, and which generation answers. */
export function Index() {
  const { tab = "generations", open } = useSearch({ from: "/index" });
  const navigate = useNavigate({ from: "/index" });
  useArticlesLive();
  const found = useIndex();
  const show = (open: (typeof INDEX_DIALOGS)[number] | undefined) => void navigate({ search: (was) => ({ ...was, open }) });
  const close = () => show(undefined);

  return (
    <Page title="Index" about="What searches by meaning are answered from." actions={<Actions onShow={show} />}>
      {found.isPending ? (
        <Loading />
      ) : found.isError && found.data === undefined ? (
        <Trouble error={found.error} again={() => void found.refetch()} />
      ) : (
        <>
          <Figures index={found.data} />
          <Filling jobs={found.data.filling} />
          <Tabs value={tab} onChange={(value) => void navigate({ search: { tab: INDEX_TABS.slice(1).find((one) => one === value) } })} keepMounted={false}>
            <Tabs.List mb="md">
              {INDEX_TABS.map((one) => (
                <Tabs.Tab key={one} value={one}>
                  {NAMES[one]}
                </Tabs.Tab>
              ))}
            </Tabs.List>
            <Tabs.Panel value="generations">
              <Generations generations={found.data.generations} />
            </Tabs.Panel>
            <Tabs.Panel value="tasks">
              <Tasks counts={found.data.queue} />
            </Tabs.Panel>
            <Tabs.Panel value="queries">
              <SavedQueries />
            </Tabs.Panel>
          </Tabs>
          {open === "reindex" && <ReindexDialog generations={found.data.generations} onClose={close} />}
          {open === "build" && <BuildDialog embedders={found.data.embedders} onClose={close} />}
          {open === "retry" && <RetryDialog failed={found.data.queue.failed} onClose={close} />}
          {open === "clear" && <ClearDialog completed={found.data.queue.completed} onClose={close} />}
        </>
      )}
    </Page>
  );
}

/** Coverage of many articles is counted in the background, and the last count told again until then: after a change it is
 * asked for once more, until another count comes. */
function useIndex() {
  const counted = useRef("");
  return useQuery({
    queryKey: ["object", "article", "index"],
    queryFn: async ({ signal }) => {
      const index = await ask(api.GET("/api/article-index", { signal }));
      const toldAgain = index.coverage.asOf === counted.current;
      counted.current = index.coverage.asOf;
      return { ...index, toldAgain };
    },
    refetchInterval: (query) => (query.state.data?.toldAgain ? TOLD_AGAIN_MS : false),
  });
}

function Actions({ onShow }: { onShow: (open: (typeof INDEX_DIALOGS)[number]) => void }) {
  const refusal = useRefusal("admin");
  return (
    <>
      {refusal === null ? (
        <Menu position="bottom-end">
          <Menu.Target>
            <Button variant="default" rightSection={<ChevronDown size={14} aria-hidden />}>
              Tasks
            </Button>
          </Menu.Target>
          <Menu.Dropdown>
            <Menu.Item leftSection={<RotateCw size={14} aria-hidden />} onClick={() => onShow("retry")}>
              Run failed ones again …
            </Menu.Item>
            <Menu.Item leftSection={<Eraser size={14} aria-hidden />} onClick={() => onShow("clear")}>
              Clear completed ones …
            </Menu.Item>
          </Menu.Dropdown>
        </Menu>
      ) : (
        <Allowed role="admin">
          <Button variant="default" rightSection={<ChevronDown size={14} aria-hidden />}>
            Tasks
          </Button>
        </Allowed>
      )}
      <Allowed role="admin">
        <Button variant="default" leftSection={<Layers size={16} aria-hidden />} onClick={() => onShow("build")}>
          New generation
        </Button>
      </Allowed>
      <Allowed role="admin">
        <Button leftSection={<RefreshCw size={16} aria-hidden />} onClick={() => onShow("reindex")}>
          Re-index
        </Button>
      </Allowed>
    </>
  );
}
