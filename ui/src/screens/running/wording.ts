// Stages in the words of people.
import type { Schemas } from "~/api/client";
import { duration, rate } from "~/blocks/wording";

export type Stage = Schemas["StageItem"];

/** The pipeline alone where it has one stage of the same name. */
export function stageName(stage: { pipeline: string; stage: string }): string {
  return stage.pipeline === stage.stage ? stage.pipeline : `${stage.pipeline} / ${stage.stage}`;
}

/** "37 min at 4.9/s, limited by wikidata 5/s". null: nothing waits. */
export function backlogWords(stage: Pick<Stage, "waiting" | "etaSeconds" | "etaCause" | "endedPerSecond" | "pausedAt" | "workers">): string | null {
  if (stage.waiting === 0) return null;
  const cause = stage.etaCause ? `, ${stage.etaCause}` : "";
  // The rate is of the last minute: what has just been stopped still has one.
  const stopped = stage.pausedAt !== null || stage.workers === 0;
  if (stage.etaSeconds === null || stopped) return stage.etaCause ? `Nothing moves: ${stage.etaCause}` : "Nothing left it in the last minute";
  return `${duration(stage.etaSeconds)} at ${rate(stage.endedPerSecond)}${cause}`;
}

/** Those with work, trouble or a decision of somebody first, then by name. */
export function inOrder(stages: readonly Stage[]): Stage[] {
  return stages.toSorted((one, other) => Number(isBusy(other)) - Number(isBusy(one)) || stageName(one).localeCompare(stageName(other)));
}

/** Whether the stage has something that people look for: work, trouble or a decision of somebody. */
export function isBusy(stage: Stage): boolean {
  return stage.waiting > 0 || stage.running > 0 || stage.failedLastHour > 0 || stage.pausedAt !== null || stage.endedPerSecond > 0;
}
