// What is asked for when failed items are to run again, and what came of it in words. Pure.
import type { Schemas } from "~/api/client";
import { count, many } from "~/blocks/wording";

export type Matching = Pick<Schemas["ReplayMatching"], "group" | "pipeline" | "jobId" | "userId">;
export type Wish = { canary: boolean; perSecond: number | null; most: number };

/** One request replays no more than this, and holds nobody for more than a minute. */
export const MOST = 5000;
const LONGEST_SECONDS = 60;

export function asked(matching: Matching, wish: Wish): Schemas["ReplayMatching"] {
  const most = wish.perSecond === null ? wish.most : Math.min(wish.most, Math.max(1, Math.floor(wish.perSecond * LONGEST_SECONDS)));
  return { ...matching, dryRun: false, canary: wish.canary, canarySeconds: 10, most, ...(wish.perSecond === null ? {} : { perSecond: wish.perSecond }) };
}

/** "142 items" where all were looked at, "5,000 items or more" where there are others behind them. */
export function found(dry: Schemas["Replayed"]): string {
  return many(dry.matched, "item") + (dry.nextCursor === null ? "" : " or more");
}

export function outcome(done: Schemas["Replayed"]): { sentence: string; good: boolean } {
  const canary = done.canary ?? null;
  if (done.stopped && canary !== null && canary.state === "ERROR")
    return {
      good: false,
      sentence: `Stopped: the first one, item ${canary.itemId}, failed again${canary.sameError ? " with the same error" : " with another error"}. The others were left as they are.`,
    };
  if (done.stopped && canary !== null && canary.state === null)
    return { good: false, sentence: `Stopped: the first one, item ${canary.itemId}, had not ended in time. The others were left as they are.` };
  if (done.stopped)
    return { good: false, sentence: `Stopped after ${many(done.failedAgain ?? 0, "item")} failed again with the error they had; ${count(done.replayed)} were started.` };
  if (done.replayed === 0) return { good: false, sentence: "Nothing was started: no failed item matches any more." };
  const more = done.nextCursor === null ? "" : " There are more; run the rest in the same way.";
  const first = canary === null ? "" : ` The first one, item ${canary.itemId}, went well.`;
  return { good: true, sentence: `${many(done.replayed, "item")} ${done.replayed === 1 ? "runs" : "run"} again.${first}${more}` };
}
