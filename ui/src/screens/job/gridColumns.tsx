import type { Schemas } from "~/api/client";
import { ItemState } from "~/blocks/StateBadge";
import { When } from "~/blocks/When";
import { count, looksAgain } from "~/blocks/wording";
import type { Column } from "~/grid/Grid";
import classes from "./grid.module.css";
import type { Item } from "./gridRows";
import { cellText, resultText } from "./gridText";

/** `text`: the cell as it is copied. `name`: what the menu of columns calls it. */
export type ItemColumn = Column<Item> & { name: string; text: (item: Item) => string };

type Job = Schemas["JobDetail"];

const WIDE = 240;
const USUAL = 180;
// What came in is known to who sent it: it leaves room for what came of it.
const FIRST_INPUT = 180;
const INPUT = 140;

/** Of a job: what came in, what came out, and how it went. */
export function gridColumns(job: Pick<Job, "columns" | "resultColumns">): ItemColumn[] {
  return [
    { ...textColumn("row", "Row", 80, (item) => (item.row === null ? "" : count(item.row)), "right"), stays: true },
    { ...STATUS, stays: true },
    ...(job.columns.length > 0
      ? job.columns.map((name, place) => textColumn(`in:${name}`, name, place === 0 ? FIRST_INPUT : INPUT, (item) => item.cells?.[place] ?? imageName(item, place)))
      : [textColumn("input", "Input", WIDE, summary)]),
    ...(job.resultColumns.length > 0
      ? job.resultColumns.map((name) => textColumn(`out:${name}`, name, USUAL, (item) => (item.resultTooLarge ? "too large to list" : resultText(item.result, name))))
      : [textColumn("result", "Result", WIDE, (item) => (item.resultTooLarge ? "too large to list" : cellText(item.result)))]),
    ATTEMPTS,
    ERROR,
    WHY,
    UPDATED,
  ];
}

export const STATUS: ItemColumn = {
  id: "status",
  name: "Status",
  header: "Status",
  width: 160,
  cell: (item) => <ItemState item={item} />,
  text: (item) => item.status,
};

export const ATTEMPTS = textColumn("attempts", "Attempts", 90, (item) => count(item.attempts), "right");

export const ERROR: ItemColumn = {
  id: "error",
  name: "Error",
  header: "Error",
  width: 280,
  cell: (item) => item.error && (
    <span className={classes.error}>{errorText(item)}</span>
  ),
  text: errorText,
};

/** What waits says why; what runs, where. */
export const WHY = textColumn("why", "Why it waits", 240, (item) => looksAgain(item) ?? item.why ?? (item.lockedBy === null ? "" : `running on ${item.lockedBy}`));

export const UPDATED: ItemColumn = {
  id: "updated",
  name: "Last change",
  header: "Last change",
  width: 130,
  cell: (item) => <When at={item.updatedAt} />,
  text: (item) => item.updatedAt,
};

export function textColumn(id: string, name: string, width: number, text: (item: Item) => string, align?: "right"): ItemColumn {
  return { id, name, header: name, width, align, text, cell: text };
}

export function summary(item: Item): string {
  return Object.values(item.inputSummary).filter(Boolean).join(" · ");
}

function errorText(item: Item): string {
  return item.error === null ? "" : [item.error.type, item.error.message].filter(Boolean).join(": ");
}

function imageName(item: Item, place: number): string {
  return place === 0 ? (item.inputSummary.Image ?? "") : "";
}
