// How good the result of a list is, from its counts and from what its providers answered.
import type { Schemas } from "~/api/client";

type Counts = Schemas["Counts"];
type Answers = Schemas["ProviderAnswers"];

/** Of those that were looked up to the end; null before the first. What was skipped was never asked for. */
export function foundShare(counts: Counts): number | null {
  const ended = counts.done + counts.notFound + counts.error;
  return ended === 0 ? null : counts.done / ended;
}

/** Who found how much of what was found, the most first. Shares of the questions that were looked at. */
export function finders(answers: Answers[]): { provider: string; share: number }[] {
  const all = answers.reduce((sum, one) => sum + one.hits, 0);
  return answers
    .filter((one) => one.hits > 0)
    .map((one) => ({ provider: one.provider, share: one.hits / all }))
    .sort((one, other) => other.share - one.share);
}

export function shown(value: unknown): string {
  if (value === null || value === undefined) return "–";
  return typeof value === "string" ? value : JSON.stringify(value);
}
