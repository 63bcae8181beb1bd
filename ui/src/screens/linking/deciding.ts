// Decisions about one record. Each names what the reviewer had before them, so nobody overrules what they have not seen.
import { api, ask, Problem } from "~/api/client";
import type { LinkRecord } from "./projects";

type Seen = { state: LinkRecord["state"]; decidedAt: string | null; entity?: string };

function seenOf(record: LinkRecord, withEntity: boolean): Seen {
  const seen: Seen = { state: record.state, decidedAt: record.decidedAt };
  return withEntity && record.entity !== null ? { ...seen, entity: record.entity } : seen;
}

const where = (projectId: number, record: LinkRecord) => ({ path: { projectId, number: record.number } });

export function accept(projectId: number, record: LinkRecord, entity: string) {
  return ask(
    api.POST("/api/projects/{projectId}/records/{number}/accept", {
      params: where(projectId, record),
      body: { entity, seen: seenOf(record, false) },
    }),
  );
}

export function reject(projectId: number, record: LinkRecord) {
  return ask(
    api.POST("/api/projects/{projectId}/records/{number}/reject", { params: where(projectId, record), body: { seen: seenOf(record, true) } }),
  );
}

export function reopen(projectId: number, record: LinkRecord) {
  return ask(
    api.POST("/api/projects/{projectId}/records/{number}/reopen", { params: where(projectId, record), body: { seen: seenOf(record, false) } }),
  );
}

export function setNote(projectId: number, number: number, note: string) {
  return ask(api.POST("/api/projects/{projectId}/records/{number}/note", { params: { path: { projectId, number } }, body: { note: note.trim() || null } }));
}

export function undoBatch(projectId: number, batch: string) {
  return ask(api.POST("/api/projects/{projectId}/undo", { params: { path: { projectId } }, body: { batch } }));
}

/** One's own last decision about a record, also if it was part of a larger batch. */
export function undoOwn(projectId: number, number: number) {
  return ask(api.POST("/api/projects/{projectId}/undo", { params: { path: { projectId } }, body: { record: number } }));
}

/** What somebody else made of the record meanwhile; null: it was refused for another reason. */
export function conflict(error: unknown): LinkRecord | null {
  if (!(error instanceof Problem) || error.status !== 409) return null;
  const { current } = error.body;
  return typeof current === "object" && current !== null && "number" in current ? (current as LinkRecord) : null;
}
