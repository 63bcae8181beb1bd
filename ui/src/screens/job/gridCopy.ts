import { Problem } from "~/api/client";
import type { ItemColumn } from "./gridColumns";
import { itemsNow, type Item } from "./gridRows";
import { asLines } from "./gridText";

const AT_ONCE = 200;
const MOST = 2000;

/** The rows with these ids as they are now, with the names of the columns above. */
export async function linesOf(ids: number[], columns: readonly ItemColumn[]): Promise<string> {
  if (ids.length > MOST) {
    throw new Problem(400, { detail: `${ids.length.toLocaleString("en")} rows are too many to copy; ${MOST.toLocaleString("en")} are possible. Use the export of the job.` });
  }
  const rows: Item[] = [];
  for (let from = 0; from < ids.length; from += AT_ONCE) {
    rows.push(...(await itemsNow(ids.slice(from, from + AT_ONCE), { cells: true })).items);
  }
  rows.sort((a, b) => a.itemId - b.itemId);
  return asLines([columns.map((column) => column.name), ...rows.map((row) => columns.map((column) => column.text(row)))]);
}

/** Over plain HTTP from another machine there is no clipboard to write to but the old way. */
export async function copyText(text: string): Promise<void> {
  if ("clipboard" in navigator) return navigator.clipboard.writeText(text);
  const area = document.createElement("textarea");
  area.value = text;
  area.setAttribute("aria-hidden", "true");
  document.body.append(area);
  area.select();
  const done = document.execCommand("copy");
  area.remove();
  if (!done) throw new Problem(400, { detail: "This browser does not let the page copy. Open Penstock over HTTPS, or use the export." });
}
