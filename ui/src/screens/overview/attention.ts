// Where the one next step of something that needs attention leads.
import type { Schemas } from "~/api/client";

export type Attention = Schemas["Attention"];

export type Step =
  | { name: string; to: "/workers" | "/stages" }
  | { name: string; to: "/errors"; search: { hours: number } }
  | { name: string; to: "/dead-letters"; search: { tab: "messages" } }
  | { name: string; to: "/stages/$pipeline/$stage"; params: { pipeline: string; stage: string } };

export function stepOf({ about, pipeline, stage }: Pick<Attention, "about" | "pipeline" | "stage">): Step {
  const there = pipeline !== null && stage !== null ? { pipeline, stage } : null;
  switch (about) {
    case "workers":
    case "unserved":
      return { name: "See the workers", to: "/workers" };
    case "failures":
      return { name: "See the errors", to: "/errors", search: { hours: 1 } };
    case "messages":
      return { name: "See the messages", to: "/dead-letters", search: { tab: "messages" } };
    case "broker":
      return { name: "See the stages", to: "/stages" };
    case "paused":
    case "lanes":
    case "waits":
      return there ? { name: "See the stage", to: "/stages/$pipeline/$stage", params: there } : { name: "See the stages", to: "/stages" };
  }
}

/** What stops work comes before what slows it down. */
const URGENT: Attention["about"][] = ["workers", "unserved", "broker", "messages", "failures", "waits", "paused", "lanes"];

export function byUrgency(found: Attention[]): Attention[] {
  return found.toSorted((one, other) => URGENT.indexOf(one.about) - URGENT.indexOf(other.about));
}
