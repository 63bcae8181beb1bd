import { ActionIcon, Text, Tooltip } from "@mantine/core";
import { ChevronDown, ChevronUp } from "lucide-react";
import { useMemo } from "react";
import { Drawer } from "~/blocks/Drawer";
import { GoTo } from "~/blocks/links";
import { Loading, Trouble } from "~/blocks/Trouble";
import { count } from "~/blocks/wording";
import { useKeys } from "~/shell/keys";
import { ItemActions } from "./ItemActions";
import { ItemView } from "./ItemView";
import { rowOf } from "./reading";
import { useItem, useNeighbours, type Among } from "./useItem";

type Props = {
  itemId: number;
  onClose: () => void;
  /** Left out: there is no way from here to other items. */
  onGo?: (itemId: number) => void;
  /** The list it was opened from, for the way to its neighbours. */
  among?: Among;
};

/** The whole item, beside the list that it was opened from. */
export function ItemDrawer({ itemId, onClose, onGo, among }: Props) {
  const found = useItem(itemId);
  const row = rowOf(found.data?.input);
  const beside = useNeighbours(found.data, onGo ? among : undefined);
  const previous = beside?.previous ?? null;
  const next = beside?.next ?? null;
  useKeys(
    useMemo(
      () =>
        onGo
          ? [
              { keys: "[", does: "Item before this one", act: () => previous !== null && onGo(previous) },
              { keys: "]", does: "Item after this one", act: () => next !== null && onGo(next) },
            ]
          : [],
      [onGo, previous, next],
    ),
  );
  return (
    <Drawer
      title={
        row === null ? (
          `Item ${itemId}`
        ) : (
          <>
            Row {count(row)}{" "}
            <Text span size="sm" c="dimmed">
              item {itemId}
            </Text>
          </>
        )
      }
      onClose={onClose}
      actions={
        onGo && (
          <>
            <Step label="Item before this one" keyName="[" to={previous} onGo={onGo} Icon={ChevronUp} />
            <Step label="Item after this one" keyName="]" to={next} onGo={onGo} Icon={ChevronDown} />
          </>
        )
      }
    >
      {found.isPending ? (
        <Loading />
      ) : found.data ? (
        <>
          <ItemActions key={itemId} item={found.data} onCopy={onGo} />
          <ItemView item={found.data} />
          <GoTo to="/items/$itemId" params={{ itemId: String(itemId) }} size="sm">
            Open on a page of its own
          </GoTo>
        </>
      ) : (
        <Trouble error={found.error} again={() => void found.refetch()} />
      )}
    </Drawer>
  );
}

type StepProps = { label: string; keyName: string; to: number | null; onGo: (itemId: number) => void; Icon: typeof ChevronUp };

function Step({ label, keyName, to, onGo, Icon }: StepProps) {
  return (
    <Tooltip label={`${label} (${keyName})`}>
      <ActionIcon variant="default" aria-label={label} data-disabled={to === null || undefined} aria-disabled={to === null || undefined} onClick={() => to !== null && onGo(to)}>
        <Icon size={16} aria-hidden />
      </ActionIcon>
    </Tooltip>
  );
}
