// A file that arrives in pieces: how much of it is here, and a sentence when it breaks off.
import { AWAY, Problem, refused } from "~/api/client";

export type Arriving = {
  /** Of the whole file, where the service knows it. */
  sizeBytes: number | null;
  bytes: number;
};

/** Fetches a file, tells how far it is, and hands it to the browser under the name that the service gives it. */
export async function fetchFile(address: string, signal: AbortSignal, arrived: (so: Arriving) => void): Promise<string> {
  const response = await fetch(address, { method: "POST", credentials: "same-origin", signal }).catch((error: unknown) => {
    if (signal.aborted) throw error;
    throw new Problem(AWAY, { detail: "Penstock does not answer. Try again in a moment." });
  });
  if (!response.ok) throw await refused(response);
  const length = Number(response.headers.get("content-length"));
  const sizeBytes = Number.isSafeInteger(length) && length > 0 && !response.headers.get("content-encoding") ? length : null;
  let bytes = 0;
  arrived({ sizeBytes, bytes });
  const counted = response.body?.pipeThrough(
    new TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>>({
      transform(piece, onward) {
        bytes += piece.length;
        arrived({ sizeBytes, bytes });
        onward.enqueue(piece);
      },
    }),
  );
  // Gathered by the browser, which puts what is large on disk. It cannot save the answer to a POST by itself without leaving the page
  // when it is refused.
  const file = await new Response(counted, { headers: { "content-type": response.headers.get("content-type") ?? "" } }).blob().catch(() => {
    signal.throwIfAborted();
    throw new Problem(AWAY, { detail: "The file broke off before its end, and nothing was kept of it. Try again in a moment." });
  });
  const name = fileName(response.headers.get("content-disposition"));
  save(file, name);
  return name;
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
