// How a file is to be read, and the forms that say so to the service.
import { sendForm, type Schemas } from "~/api/client";
import type { Roles } from "./roles";
import type { DELIMITERS } from "./search";

export type Preview = Schemas["UploadPreview"];

export type Reading = {
  pipeline?: string;
  encoding?: string;
  delimiter?: (typeof DELIMITERS)[number];
  header?: "yes" | "no";
  sheet?: string;
};

const SIGNS: Record<(typeof DELIMITERS)[number], string> = { comma: ",", semicolon: ";", tab: "\t", bar: "|" };
/** Of a table its beginning tells enough; archives have their table of contents at the end. */
const TABLE_BYTES = 2 * 1024 * 1024;
const ARCHIVE_BYTES = 32 * 1000 * 1000;
const IMAGE_BYTES = 4096;
const IMAGES = 50;

export function delimiterName(sign: string | null): (typeof DELIMITERS)[number] | undefined {
  return (Object.keys(SIGNS) as (typeof DELIMITERS)[number][]).find((one) => SIGNS[one] === sign);
}

function fields(form: FormData, reading: Reading, options: Record<string, unknown>): void {
  if (reading.pipeline) form.set("pipeline", reading.pipeline);
  if (reading.encoding) form.set("encoding", reading.encoding);
  if (reading.delimiter) form.set("delimiter", SIGNS[reading.delimiter]);
  if (reading.header) form.set("header", reading.header === "yes" ? "true" : "false");
  if (reading.sheet) form.set("sheet", reading.sheet);
  if (Object.keys(options).length > 0) form.set("options", JSON.stringify(options));
}

/** How much of a file the preview is sent: all of an archive, where it is not too large for it. */
export function sliceOf(file: { name: string; size: number; type: string }): number {
  const archive = /\.(xlsx|xlsm|zip)$/i.test(file.name) || /zip|spreadsheetml/.test(file.type);
  if (/^image\//.test(file.type)) return IMAGE_BYTES;
  return archive && file.size <= ARCHIVE_BYTES ? file.size : TABLE_BYTES;
}

export async function fetchPreview(files: File[], reading: Reading, roles: Roles | null, signal: AbortSignal): Promise<Preview> {
  const form = new FormData();
  const [first] = files;
  if (files.length > 1) {
    for (const file of files.slice(0, IMAGES)) form.append("file", file.slice(0, IMAGE_BYTES), file.name);
    form.set("files", String(files.length));
  } else if (first) {
    form.append("file", first.slice(0, sliceOf(first)), first.name);
    form.set("sizeBytes", String(first.size));
  }
  fields(form, reading, roles ? { roles } : {});
  return sendForm("/api/uploads/preview", form, { signal });
}

export function submission(files: File[], reading: Reading, options: Record<string, unknown>, name: string): FormData {
  const form = new FormData();
  fields(form, reading, options);
  if (name.trim()) form.set("name", name.trim());
  // Last, so that the service knows what is coming before it comes.
  for (const file of files) form.append("file", file, file.name);
  return form;
}
