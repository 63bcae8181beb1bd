// Cells as text: in the grid, and as lines for a spreadsheet.

/** One line: the whole of it is in the drawer. */
export function cellText(value: unknown): string {
  if (value === null || value === undefined) return "";
  if (typeof value === "string") return value;
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  return JSON.stringify(value);
}

/** A column of a result, which is an object with the names of the columns, or anything else. */
export function resultText(result: unknown, column: string): string {
  if (typeof result !== "object" || result === null || Array.isArray(result)) return "";
  return cellText((result as Record<string, unknown>)[column]);
}

// The same signs as in `console/files/export/formulas.py`.
const FORMULA = /^'*[-=+@\t\r\n＝＋－＠]/;
const NUMBER = /^[+-]?\d[\d.,]*%?$/;

/** Lines with tabs, as spreadsheets take them. What would be a formula there gets an apostrophe, as in a safe export. */
export function asLines(rows: readonly (readonly string[])[]): string {
  return rows.map((row) => row.map(guarded).join("\t")).join("\n");
}

function guarded(cell: string): string {
  const line = cell.replaceAll(/[\t\r\n]+/g, " ");
  if (FORMULA.test(cell) && !NUMBER.test(line)) return `'${line}`;
  // Spreadsheets read what begins with a quote up to the next one, over tabs and ends of lines.
  return line.startsWith('"') ? `"${line.replaceAll('"', '""')}"` : line;
}
