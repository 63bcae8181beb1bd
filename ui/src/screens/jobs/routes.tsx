import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { flag, known, oneOf, text, type Search } from "~/address";
import { root } from "~/root";

export const JOB_STATES = ["QUEUED", "RUNNING", "PAUSED", "DONE", "FAILED", "CANCELLED"] as const;

export const jobsRoutes = [
  createRoute({
    getParentRoute: () => root,
    path: "/jobs",
    validateSearch: (search: Search) =>
      known({
        state: oneOf(search.state, JOB_STATES),
        pipeline: text(search.pipeline),
        q: text(search.q),
        everybody: flag(search.everybody),
      }),
    component: lazyRouteComponent(() => import("./Jobs"), "Jobs"),
  }),
] as const;
