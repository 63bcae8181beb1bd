// Where an article stands in the index, in words: what a search finds of it, and why the rest waits.
import type { Schemas } from "~/api/client";
import { ago, count, duration } from "~/blocks/wording";

export type Chip = Schemas["EmbeddingStatus"]["chip"];

export const CHIPS: Record<Chip, { word: string; look: string; means: string }> = {
  indexed: { word: "Indexed", look: "DONE", means: "Found by its meaning and its words." },
  stale: { word: "Stale", look: "PAUSED", means: "An older text is found by its meaning; this one by its words." },
  waiting: { word: "Waiting", look: "PENDING", means: "Found by its words; its embedding is under way." },
  failed: { word: "Failed", look: "ERROR", means: "Found by its words; its embedding failed." },
  missing: { word: "Not indexed", look: "SKIPPED", means: "Found by its words; no embedding is planned." },
};

/** What holds up every embedding at this moment, as the stage of embeddings tells it. */
export type Stage = Pick<Schemas["StageItem"], "pausedAt" | "pausedBy" | "pauseReason" | "workers" | "waiting" | "etaSeconds" | "endedPerSecond">;

/** Null: nothing waits, and nothing went wrong. */
export function whyOf(embedding: Schemas["EmbeddingStatus"], stage: Stage | undefined, now: number): string | null {
  const { chip, status, error, attempts, maxAttempts, nextRunAt } = embedding;
  if (status === "processing") return "Is being embedded now.";
  if (status === "pending") {
    if (stage?.pausedAt) return `Embedding is paused by ${stage.pausedBy ?? "somebody"}${stage.pauseReason ? `: ${stage.pauseReason}` : ""}.`;
    if (stage !== undefined && stage.workers === 0) return "No live worker embeds articles.";
    if (attempts > 0 && nextRunAt !== null) {
      const when = Date.parse(nextRunAt) > now ? ago(nextRunAt, now) : "now";
      return `Try ${attempts + 1} of ${maxAttempts} ${when}${error ? ` after: ${error}` : ""}`;
    }
    return ahead(stage);
  }
  if (status === "failed") return `${error ?? "The embedding failed."}${maxAttempts > 0 ? ` (${count(attempts)} of ${count(maxAttempts)} tries)` : ""}`;
  if (status === "cancelled" && chip !== "indexed") return "Its embedding was cancelled.";
  if (chip === "missing") return "It was saved without an embedding. A re-index of what is missing adds it.";
  if (chip === "stale") return "The newest text was saved without an embedding.";
  return null;
}

function ahead(stage: Stage | undefined): string {
  if (stage === undefined || stage.waiting <= 1) return "Its turn comes next.";
  const eta = stage.etaSeconds !== null ? `, ${duration(stage.etaSeconds)} at ${stage.endedPerSecond.toFixed(1)}/s` : "";
  return `One of ${count(stage.waiting)} that wait${eta}.`;
}
