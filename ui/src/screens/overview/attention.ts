// Where the one next step of something that needs attention leads.
import type { Schemas } from "~/api/client";

export type Attention = Schemas["Attention"];

export type Step =
  | { name: string; to: "/workers" | "/stages" }
  | { name: string; to: "/errors"; search: { hours: number; everybody: true } }
  | { name: string; to: "/dead-letters"; search: { tab: "messages" } | { pipeline: string; stage: string; everybody: true } }
  | { name: string; to: "/stages/$pipeline/$stage"; params: { pipeline: string; stage: string } };

/** null: only an admin could do anything about it. What failed may be others', whose items only an admin sees. */
export function stepOf({ about, pipeline, stage }: Pick<Attention, "about" | "pipeline" | "stage">, admin: boolean): Step | null {
  const there = pipeline !== null && stage !== null ? { pipeline, stage } : null;
  switch (about) {
    case "workers":
    case "unserved":
      return { name: "See the workers", to: "/workers" };
    case "failures":
      if (!admin) break;
      return there
        ? { name: "See what failed", to: "/dead-letters", search: { ...there, everybody: true } }
        : { name: "See the errors", to: "/errors", search: { hours: 1, everybody: true } };
    case "messages":
      return admin ? { name: "See the messages", to: "/dead-letters", search: { tab: "messages" } } : null;
    case "broker":
      return { name: "See the stages", to: "/stages" };
    case "paused":
    case "lanes":
    case "waits":
      break;
  }
  return there ? { name: "See the stage", to: "/stages/$pipeline/$stage", params: there } : { name: "See the stages", to: "/stages" };
}

/** What stops work comes before what slows it down. */
const URGENT: Attention["about"][] = ["workers", "unserved", "broker", "messages", "failures", "waits", "paused", "lanes"];

export function byUrgency(found: Attention[]): Attention[] {
  return found.toSorted((one, other) => URGENT.indexOf(one.about) - URGENT.indexOf(other.about));
}
