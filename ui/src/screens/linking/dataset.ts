// A dataset before it is stored: a file, or what somebody pasted, which goes the same way.
import { refused, type Schemas } from "~/api/client";

export type Preview = Schemas["DatasetPreview"];

/** The beginning of a CSV is enough for its first rows; workbooks and JSON are read whole. */
const HEAD_BYTES = 1024 * 1024;

export function pastedFile(text: string): File {
  const json = text.trimStart().startsWith("[");
  return new File([text], json ? "pasted.json" : "pasted.csv", { type: json ? "application/json" : "text/csv" });
}

export function isWhole(name: string): boolean {
  return /\.(json|xlsx|xlsm)$/i.test(name);
}

export function nameOf(file: File): string {
  return file.name.replace(/\.[^.]+$/, "").slice(0, 200) || "Dataset";
}

export async function preview(file: File): Promise<Preview> {
  const form = new FormData();
  form.set("file", isWhole(file.name) || file.size <= HEAD_BYTES ? file : file.slice(0, HEAD_BYTES), file.name);
  return (await sent("/api/projects/preview", form)) as Preview;
}

export type NewProjectFields = { name: string; source: string; roles: object; options: object };

export async function create(file: File, fields: NewProjectFields): Promise<Schemas["ProjectDetail"]> {
  const form = new FormData();
  form.set("name", fields.name);
  form.set("source", fields.source);
  form.set("roles", JSON.stringify(fields.roles));
  form.set("options", JSON.stringify(fields.options));
  form.set("file", file, file.name);
  return (await sent("/api/projects", form)) as Schemas["ProjectDetail"];
}

async function sent(address: string, form: FormData): Promise<unknown> {
  const response = await fetch(address, { method: "POST", body: form, credentials: "same-origin" });
  if (!response.ok) throw await refused(response);
  return response.json();
}
