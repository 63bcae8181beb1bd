// Stages in the words of people.
import type { Schemas } from "~/api/client";
import { etaWords } from "~/blocks/wording";

export type Stage = Schemas["StageItem"];

/** The pipeline alone where it has one stage of the same name. */
export function stageName(stage: { pipeline: string; stage: string }): string {
  return stage.pipeline === stage.stage ? stage.pipeline : `${stage.pipeline} / ${stage.stage}`;
}

/** How long what waits still takes, or why it stands still. null: nothing waits. */
export function backlogWords(stage: Pick<Stage, "waiting" | "etaSeconds" | "etaCause" | "endedPerSecond">): string | null {
  if (stage.waiting === 0) return null;
  return etaWords(stage.etaSeconds, stage.endedPerSecond, stage.etaCause) ?? "Nothing left it in the last minute";
}

/** Those that have places keep them; behind them those with work, trouble or a decision of somebody, then by name. */
export function inOrder(stages: readonly Stage[], places: readonly string[] = []): Stage[] {
  const placeOf = (stage: Stage) => (places.includes(stageName(stage)) ? places.indexOf(stageName(stage)) : places.length);
  return stages.toSorted(
    (one, other) => placeOf(one) - placeOf(other) || Number(isBusy(other)) - Number(isBusy(one)) || stageName(one).localeCompare(stageName(other)),
  );
}

/** Whether the stage has something that people look for: work, trouble or a decision of somebody. */
export function isBusy(stage: Stage): boolean {
  return stage.waiting > 0 || stage.running > 0 || stage.failedLastHour > 0 || stage.pausedAt !== null || stage.endedPerSecond > 0;
}
