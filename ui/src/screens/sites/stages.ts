// Where a site stands in each of its three stages, in the words people read.
import type { Schemas } from "~/api/client";

export const STAGES = ["website-analysis", "prompt-forming", "model-analysis"] as const;
export type StageName = (typeof STAGES)[number];

export const STAGE_NAMES: Record<StageName, string> = {
  "website-analysis": "Website analysis",
  "prompt-forming": "Prompt forming",
  "model-analysis": "Model analysis",
};

export const STAGE_WORDS: Record<StageName, string> = {
  "website-analysis": "reads the start page and a few more, and understands them",
  "prompt-forming": "forms questions from what was found",
  "model-analysis": "asks every model every prompt, and scores the answers",
};

export type Chip = {
  stage: StageName;
  /** As `StateBadge` takes it; NOT_YET before the site came so far. */
  state: string;
  word?: string;
  /** What it waits for, or why it failed. */
  about: string | null;
};

type Place = Pick<Schemas["SiteBody"], "state" | "stage" | "why" | "error">;

export const OPEN_STATES: readonly string[] = ["PENDING", "PROCESSING"];

export function isOpen(site: { state: string }): boolean {
  return OPEN_STATES.includes(site.state);
}

export function needsApproval(site: Pick<Place, "state" | "stage" | "why">): boolean {
  return site.state === "PENDING" && site.stage === "model-analysis" && (site.why ?? "").includes("approval");
}

/** One chip per stage: those behind the site are done, the one it is at has its state, those before it are not yet. */
export function chipsOf(site: Place): Chip[] {
  const at = Math.max(
    0,
    STAGES.findIndex((stage) => stage === site.stage),
  );
  return STAGES.map((stage, index): Chip => {
    if (site.state === "DONE" || index < at) return { stage, state: "DONE", about: null };
    if (index > at) return { stage, state: "NOT_YET", word: "Not yet", about: null };
    if (needsApproval(site)) return { stage, state: "PAUSED", word: "Needs approval", about: site.why };
    return { stage, state: site.state, about: site.state === "ERROR" ? site.error : site.why };
  });
}

/** Why a run from a stage cannot begin for any of these; null: it can. */
export function notAgain(sites: { state: string }[]): string | null {
  if (sites.length === 0) return "No site is selected.";
  if (sites.every(isOpen)) return sites.length === 1 ? "The site has not ended yet. Only what has ended can run again." : "None of these sites has ended yet.";
  return null;
}
