// How long a job still takes, and why, in one sentence.
import { etaWords, rate } from "~/blocks/wording";

export type Paced = {
  queueState: string;
  perSecond: number | null;
  etaSeconds: number | null;
  etaCause: string | null;
  totalItems: number;
};

const OPEN = new Set(["QUEUED", "RUNNING", "PAUSED"]);

/** "37 min at 4.9/s, limited by wikidata 5/s"; null: it has ended. */
export function etaSentence(job: Paced): string | null {
  if (!OPEN.has(job.queueState)) return null;
  const words = etaWords(job.etaSeconds, job.perSecond, job.etaCause);
  if (words !== null) return words;
  return job.totalItems === 0 ? "No items yet" : "Nothing has ended in the last minute, so there is no telling";
}

/** How quick it is, where no time that is left tells it; null where nothing of it can run now. */
export function paceWords(job: Paced & { nextDueAt: string | null }): string | null {
  if (!OPEN.has(job.queueState) || job.etaSeconds !== null || job.nextDueAt !== null || !job.perSecond) return null;
  return rate(job.perSecond);
}
