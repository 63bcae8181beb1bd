import { Paper } from "@mantine/core";
import { getRouteApi } from "@tanstack/react-router";
import { number } from "~/address";
import { GoTo } from "~/blocks/links";
import { Page } from "~/blocks/Page";
import { Loading, Trouble } from "~/blocks/Trouble";
import { count } from "~/blocks/wording";
import { ItemActions } from "./ItemActions";
import { ItemView } from "./ItemView";
import { rowOf } from "./reading";
import { useItem } from "./useItem";

const route = getRouteApi("/items/$itemId");

/** The whole item on a page of its own, for links. */
export function Item() {
  const { itemId } = route.useParams();
  const navigate = route.useNavigate();
  const found = useItem(number(itemId) ?? 0);
  const item = found.data;
  const row = rowOf(item?.input);
  return (
    <Page
      title={row === null ? `Item ${itemId}` : `Row ${count(row)}`}
      about={
        item && (
          <span className="stored">
            {row !== null && `Item ${itemId} · `}
            {item.pipeline}
            {item.jobId !== null && (
              <>
                {" · "}
                <GoTo to="/jobs/$jobId" params={{ jobId: String(item.jobId) }} underline="always">
                  Job {item.jobId}
                </GoTo>
              </>
            )}
            {item.owner && ` · ${item.owner}`}
          </span>
        )
      }
    >
      {found.isPending ? (
        <Loading />
      ) : item ? (
        <Paper withBorder p="md" maw={900}>
          <ItemActions item={item} onCopy={(copy) => void navigate({ to: "/items/$itemId", params: { itemId: String(copy) } })} />
          <ItemView item={item} />
        </Paper>
      ) : (
        <Trouble error={found.error} again={() => void found.refetch()} />
      )}
    </Page>
  );
}
