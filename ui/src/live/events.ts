// What the service tells as it happens. Hints only: they say what to fetch, never what to show.

export type LiveEvent =
  | { kind: "job"; jobId: number; owner: string | null }
  | { kind: "stage"; stage: string; moves: Record<string, number> }
  /** Something of an application changed: an article, a project, a record, a site, a schedule … */
  | { kind: "object"; type: string; id: string }
  /** Something may have been missed: fetch everything that is shown. */
  | { kind: "reset"; reason: string }
  | { kind: "stale"; reason: string }
  | { kind: "live" }
  | { kind: "beat" };

/** A live event as it goes from the tab that listens to the others. */
export type Told = { id: string; event: LiveEvent };

export const KINDS = ["job", "stage", "object", "reset", "stale", "live", "beat"] as const;

/** null: nothing this page knows, e.g. of a newer service. */
export function parsed(kind: string, data: string): LiveEvent | null {
  let body: Record<string, unknown>;
  try {
    body = JSON.parse(data || "{}") as Record<string, unknown>;
  } catch {
    return null;
  }
  switch (kind) {
    case "job":
      return typeof body.jobId === "number" ? { kind, jobId: body.jobId, owner: (body.owner as string) ?? null } : null;
    case "stage":
      return typeof body.stage === "string"
        ? { kind, stage: body.stage, moves: (body.moves as Record<string, number>) ?? {} }
        : null;
    case "object":
      return typeof body.type === "string" ? { kind, type: body.type, id: String(body.id ?? "") } : null;
    case "reset":
    case "stale":
      return { kind, reason: String(body.reason ?? "") };
    case "live":
    case "beat":
      return { kind };
    default:
      return null;
  }
}

/** Whether `id` comes after `last`, which both read `process-number`. Another process begins anew. */
export function isNews(id: string, last: string): boolean {
  const [process, number] = split(id);
  const [lastProcess, lastNumber] = split(last);
  return process !== lastProcess || number > lastNumber;
}

function split(id: string): [string, number] {
  const dash = id.lastIndexOf("-");
  return [id.slice(0, dash), Number(id.slice(dash + 1))];
}
