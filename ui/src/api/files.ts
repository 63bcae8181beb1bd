// Files that the service writes: saved by the page where they are small, by the browser itself where they are not.
import { ask, AWAY, Problem } from "./client";

export type Arriving = {
  /** Of the whole file, where the service knows it. */
  sizeBytes: number | null;
  bytes: number;
};

/** Fetches a file, tells how far it is, and hands it to the browser under the name that the service gives it. */
export async function fetchFile(address: string, options: RequestInit = {}, arrived?: (so: Arriving) => void): Promise<string> {
  const response = await ask(fetch(address, { credentials: "same-origin", ...options }).then((found) => ({ response: found, data: found })));
  const length = Number(response.headers.get("content-length"));
  const sizeBytes = Number.isSafeInteger(length) && length > 0 && !response.headers.get("content-encoding") ? length : null;
  const pieces: Uint8Array<ArrayBuffer>[] = [];
  let bytes = 0;
  arrived?.({ sizeBytes, bytes });
  try {
    for (const reader = response.body?.getReader(); reader; ) {
      const { done, value } = await reader.read();
      if (done) break;
      pieces.push(value);
      bytes += value.length;
      arrived?.({ sizeBytes, bytes });
    }
  } catch (error) {
    if (options.signal?.aborted) throw error;
    throw new Problem(AWAY, { detail: "The file broke off before its end, and nothing was kept of it. Try again in a moment." });
  }
  const name = fileName(response.headers.get("content-disposition"));
  save(new Blob(pieces, { type: response.headers.get("content-type") ?? "" }), name);
  return name;
}

/** From so many rows on the file is not held in memory: the browser saves it as it comes, and shows how far it is. */
export const LARGE_ROWS = 50_000;

/**
 * Lets the browser save the answer to a POST. In a new tab, which closes when a file comes: a refusal is told there, and not in the place
 * of this page. Frames are forbidden by the policy of the pages.
 */
export function handOver(address: string): void {
  const form = document.createElement("form");
  form.method = "post";
  form.action = address;
  form.target = "_blank";
  document.body.append(form);
  form.submit();
  form.remove();
}

/** The name in a Content-Disposition; the one in UTF-8 counts before the plain one. */
export function fileName(disposition: string | null): string {
  const encoded = /filename\*=UTF-8''([^;]+)/i.exec(disposition ?? "")?.[1];
  const plain = /filename="?([^";]+)/i.exec(disposition ?? "")?.[1];
  try {
    return encoded ? decodeURIComponent(encoded) : (plain ?? "penstock-export");
  } catch {
    return plain ?? "penstock-export";
  }
}

function save(blob: Blob, name: string): void {
  const address = URL.createObjectURL(blob);
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}
