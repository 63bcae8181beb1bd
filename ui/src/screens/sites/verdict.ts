// What one model made of one prompt, in a word or two.
import type { Schemas } from "~/api/client";
import { many } from "~/blocks/wording";

/** The model that quotes the site: it says what a reader would find, never whether others know the business. */
export const OFFLINE = "offline";

export type Verdict = { tone: "good" | "bad" | "plain"; word: string; more: string | null };

type Answer = Pick<Schemas["AnswerBody"], "text" | "evidence" | "problem">;
type Cell = Pick<Schemas["AnswerCell"], "named" | "positions" | "others" | "failed" | "claims">;

export function verdictOf(model: string, answers: Answer[], cell: Cell | undefined, open: boolean): Verdict {
  if (answers.length === 0) return { tone: "plain", word: open ? "Not yet" : "Not asked", more: null };
  const given = answers.filter((answer) => answer.text !== null);
  if (given.length === 0) return { tone: "bad", word: "No answer", more: null };
  if (model === OFFLINE) {
    const found = given.some((answer) => answer.evidence.length > 0);
    return { tone: found ? "good" : "bad", word: found ? "On the site" : "Not on the site", more: null };
  }
  if (!cell || cell.named.value === null) return { tone: "plain", word: "Answered", more: moreOf(cell) };
  const named = Math.round(cell.named.value * cell.named.count);
  if (named === 0) return { tone: "bad", word: "Not named", more: moreOf(cell) };
  return { tone: "good", word: cell.named.count > 1 ? `Named ${named} of ${cell.named.count}` : "Named", more: moreOf(cell) };
}

function moreOf(cell: Cell | undefined): string | null {
  if (!cell) return null;
  const unsupported = cell.claims.filter((claim) => !claim.supported).length;
  const others = Object.keys(cell.others).length;
  const parts = [
    cell.positions.length > 0 && `place ${Math.min(...cell.positions)}`,
    others > 0 && many(others, "other"),
    unsupported > 0 && `${unsupported} without support`,
    cell.failed > 0 && `${cell.failed} failed`,
  ];
  return parts.filter(Boolean).join(" · ") || null;
}
