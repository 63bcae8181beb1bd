// What people stored, made readable without trusting any of it.

/** Names and values of an item's input: the columns of its file where it came from one, else what was sent. */
export function inputPairs(input: unknown, columns: string[]): [string, unknown][] {
  if (!isRecord(input)) return input === null || input === undefined ? [] : [["input", input]];
  const cells = input.cells;
  if (!Array.isArray(cells)) return Object.entries(input);
  return cells.map((cell, index) => [columns[index] ?? `Column ${index + 1}`, cell] as [string, unknown]);
}

/** A result of named columns; null: something else, to be shown whole. */
export function resultPairs(result: unknown): [string, unknown][] | null {
  if (!isRecord(result)) return null;
  return Object.entries(isRecord(result.columns) ? result.columns : result);
}

/** The row of a file that it is; null of what came otherwise. */
export function rowOf(input: unknown): number | null {
  return isRecord(input) && typeof input.row === "number" ? input.row : null;
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function asText(value: unknown): string {
  if (value === null || value === undefined) return "";
  return typeof value === "string" ? value : JSON.stringify(value, null, 2);
}
