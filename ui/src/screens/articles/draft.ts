// What somebody is writing, and what it differs in from what is stored. Pure.
import { Problem, type Schemas } from "~/api/client";

export type Visibility = Schemas["Visibility"];
export type Priority = "high" | "normal" | "low";

/** The stored text that a draft began with. */
export type Base = { title: string; content: string; visibility: Visibility; revision: number; updatedAt: string };

export type Draft = {
  title: string;
  content: string;
  visibility: Visibility;
  message: string;
  priority: Priority;
  skipEmbedding: boolean;
};

export const EMPTY: Draft = { title: "", content: "", visibility: "private", message: "", priority: "normal", skipEmbedding: false };

export function draftOf(base: Base): Draft {
  return { ...EMPTY, title: base.title, content: base.content, visibility: base.visibility };
}

/** Whether something would be lost. How it is embedded is no text, and asked anew for every save. */
export function isUnsaved(draft: Draft, base: Base | null): boolean {
  if (base === null) return draft.title.trim() !== "" || draft.content !== "";
  return draft.title !== base.title || draft.content !== base.content || draft.visibility !== base.visibility || draft.message.trim() !== "";
}

/** Whether `stored` was saved after what the draft began with. */
export function isNewer(stored: Base, base: Base): boolean {
  return Date.parse(stored.updatedAt) > Date.parse(base.updatedAt);
}

/** What somebody else saved meanwhile, as the service answers it with 409. */
export type Current = { revision: number; title: string; content: string; author: string; updatedAt: string };

export function currentOf(error: unknown): Current | null {
  if (!(error instanceof Problem) || error.status !== 409) return null;
  const current = error.body.current;
  return typeof current === "object" && current !== null && "revision" in current ? (current as Current) : null;
}
