import { ActionIcon, Button, Checkbox, Chip, Group, Menu, NumberInput, SegmentedControl, Text, Tooltip } from "@mantine/core";
import { Columns3, CornerDownLeft, X } from "lucide-react";
import { useState } from "react";
import type { Schemas } from "~/api/client";
import { count, stateWord } from "~/blocks/wording";
import type { ItemColumn } from "./gridColumns";
import { ITEM_STATES } from "./routes";

export type ItemState = (typeof ITEM_STATES)[number];

const COUNTS: Record<ItemState, keyof Schemas["Counts"]> = {
  PENDING: "pending",
  PROCESSING: "processing",
  DONE: "done",
  ERROR: "error",
  NOT_FOUND: "notFound",
  SKIPPED: "skipped",
  CANCELLED: "cancelled",
};

export function countIn(counts: Schemas["Counts"], states: readonly ItemState[]): number {
  return states.reduce((sum, state) => sum + counts[COUNTS[state]], 0);
}

/** States as chips with the counts that the job keeps. Those that no item is in are left out, unless they are chosen. */
export function StateChips({ counts, chosen, onChange, all = ITEM_STATES }: { counts: Schemas["Counts"] | null; chosen: readonly ItemState[]; onChange: (states: ItemState[]) => void; all?: readonly ItemState[] }) {
  const shown = all.filter((state) => counts === null || counts[COUNTS[state]] > 0 || chosen.includes(state));
  return (
    <Group gap={6} role="group" aria-label="Status">
      {shown.map((state) => (
        <Chip
          key={state}
          size="xs"
          checked={chosen.includes(state)}
          onChange={(on) => onChange(on ? [...chosen, state] : chosen.filter((one) => one !== state))}
          className="numbers"
        >
          {stateWord(state)} {counts !== null && count(counts[COUNTS[state]])}
        </Chip>
      ))}
    </Group>
  );
}

/** What a list is narrowed to beyond its states. */
export function FilterPill({ children, label, onRemove }: { children: string; label: string; onRemove: () => void }) {
  return (
    <Button size="compact-xs" variant="light" radius="xl" rightSection={<X size={12} aria-hidden />} onClick={onRemove} aria-label={label}>
      {children}
    </Button>
  );
}

type OrderProps = { updated: boolean; forced: string | null; onChange: (updated: boolean) => void };

/** In the order of the file, or newest change first. */
export function Order({ updated, forced, onChange }: OrderProps) {
  return (
    <Tooltip label={forced} disabled={forced === null} multiline maw={300} events={{ hover: true, focus: true, touch: true }}>
      <SegmentedControl
        size="xs"
        aria-label="Order"
        value={updated || forced !== null ? "updated" : "row"}
        onChange={(value) => onChange(value === "updated")}
        data={[
          { value: "row", label: "By row", disabled: forced !== null },
          { value: "updated", label: "Last change" },
        ]}
      />
    </Tooltip>
  );
}

export function GoToRow({ onGo }: { onGo: (row: number) => void }) {
  const [row, setRow] = useState<string | number>("");
  const number = typeof row === "number" ? row : Number.NaN;
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        if (number >= 1) onGo(number);
      }}
    >
      <NumberInput
        size="xs"
        w={150}
        aria-label="Go to row"
        placeholder="Go to row"
        value={row}
        onChange={setRow}
        min={1}
        allowDecimal={false}
        allowNegative={false}
        thousandSeparator=","
        hideControls
        rightSection={
          <ActionIcon type="submit" variant="subtle" size={24} aria-label="Go" data-disabled={Number.isNaN(number) || undefined}>
            <CornerDownLeft size={14} aria-hidden />
          </ActionIcon>
        }
      />
    </form>
  );
}

type ColumnsProps = { columns: ItemColumn[]; shown: ReadonlySet<string>; onChange: (ids: string[] | undefined) => void };

export function ColumnsMenu({ columns, shown, onChange }: ColumnsProps) {
  const hidden = columns.length - columns.filter((column) => shown.has(column.id)).length;
  return (
    <Menu closeOnItemClick={false} position="bottom-end" withinPortal>
      <Menu.Target>
        <Button size="xs" variant="default" leftSection={<Columns3 size={14} aria-hidden />}>
          Columns{hidden > 0 && ` (${count(hidden)} hidden)`}
        </Button>
      </Menu.Target>
      <Menu.Dropdown mah={420} style={{ overflowY: "auto" }}>
        {columns.map((column) => {
          const on = shown.has(column.id);
          return (
            <Menu.Item
              key={column.id}
              aria-label={`${on ? "Hide" : "Show"} ${column.name}`}
              leftSection={<Checkbox.Indicator size="xs" checked={on} aria-hidden />}
              onClick={() => onChange(columns.filter((one) => (one.id === column.id ? !on : shown.has(one.id))).map((one) => one.id))}
            >
              <Text size="sm" className="stored" maw={260}>
                {column.name}
              </Text>
            </Menu.Item>
          );
        })}
        <Menu.Divider />
        <Menu.Item onClick={() => onChange(undefined)}>Show all</Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}
