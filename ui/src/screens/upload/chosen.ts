// The files somebody has chosen, from wherever they were dropped. Files cannot stand in an address.
import { useSyncExternalStore } from "react";

export type Chosen = { files: File[]; number: number };

let chosen: Chosen | null = null;
let count = 0;
const watchers = new Set<() => void>();

function change(next: Chosen | null): void {
  chosen = next;
  for (const watcher of watchers) watcher();
}

export function choose(files: Iterable<File>): void {
  const given = [...files];
  if (given.length > 0) change({ files: given, number: ++count });
}

export function forget(): void {
  change(null);
}

export function useChosen(): Chosen | null {
  return useSyncExternalStore(
    (changed) => {
      watchers.add(changed);
      return () => watchers.delete(changed);
    },
    () => chosen,
  );
}

/** Cells that were copied from a spreadsheet are a table as well. */
export function pasted(data: DataTransfer | null): File[] {
  if (data === null) return [];
  if (data.files.length > 0) return [...data.files];
  const text = data.getData("text/plain");
  return /[\n\t;,|]/.test(text.trim()) ? [new File([text], "pasted.csv", { type: "text/csv" })] : [];
}
