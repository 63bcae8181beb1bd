// The try that a history does not hold: the one that ended the item, or that runs now.
import { stateWord } from "~/blocks/wording";
import { isRecord } from "./reading";

type Ended = { status: string; attempts: number; error: unknown };

/** In words; null: it waits, and its history is all there is. */
export function lastTry(item: Ended): string | null {
  if (item.status === "PENDING" || copyOf(item) !== null) return null;
  const number = item.status === "PROCESSING" ? item.attempts + 1 : item.attempts;
  // What was cancelled before it began has no try.
  return number > 0 ? `${stateWord(item.status)} · try ${number}` : stateWord(item.status);
}

/** The edited copy that runs in its place. */
export function copyOf({ status, error }: Pick<Ended, "status" | "error">): number | null {
  const told = status === "SKIPPED" && isRecord(error) && error.type === "Replaced" ? error.task_id : null;
  return typeof told === "number" ? told : null;
}
