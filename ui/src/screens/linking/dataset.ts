// A dataset before it is stored: a file, or what somebody pasted, which goes the same way.
import { sendForm, type Schemas } from "~/api/client";

export type Preview = Schemas["DatasetPreview"];

/** The beginning of a CSV is enough for its first rows; workbooks and JSON are read whole, up to what a look may take. */
const HEAD_BYTES = 1024 * 1024;
const MOST_JSON_BYTES = 4 * 1024 * 1024;
const MOST_BYTES = 32 * 1024 * 1024;

export function pastedFile(text: string): File {
  const json = text.trimStart().startsWith("[");
  return new File([text], json ? "pasted.json" : "pasted.csv", { type: json ? "application/json" : "text/csv" });
}

/** How much of a file is sent for a look; null: it has to be read whole, and is too large for that. */
export function lookOf({ name, size }: { name: string; size: number }): number | null {
  if (!/\.(json|xlsx|xlsm)$/i.test(name)) return Math.min(size, HEAD_BYTES);
  return size > (/\.json$/i.test(name) ? MOST_JSON_BYTES : MOST_BYTES) ? null : size;
}

export function nameOf(file: File): string {
  return file.name.replace(/\.[^.]+$/, "").slice(0, 200) || "Dataset";
}

/** A help, not a gate: null for what is too large for a look, and may be stored all the same. */
export async function preview(file: File): Promise<Preview | null> {
  const size = lookOf(file);
  if (size === null) return null;
  const form = new FormData();
  form.set("file", file.slice(0, size), file.name);
  return sendForm("/api/projects/preview", form);
}

/** Without roles the columns are read as their names suggest. */
export type NewProjectFields = { name: string; source: string; roles?: object; options: object };

export async function create(file: File, fields: NewProjectFields): Promise<Schemas["ProjectDetail"]> {
  const form = new FormData();
  form.set("name", fields.name);
  form.set("source", fields.source);
  if (fields.roles) form.set("roles", JSON.stringify(fields.roles));
  form.set("options", JSON.stringify(fields.options));
  form.set("file", file, file.name);
  return sendForm("/api/projects", form);
}
