import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { known, number, oneOf, someOf, type Search } from "~/address";
import { root } from "~/root";

export const PROJECT_TABS = ["setup", "scores"] as const;
export const RECORD_STATES = ["NEW", "QUEUED", "MATCHING", "REVIEW", "ACCEPTED", "REJECTED", "NO_CANDIDATE", "ERROR", "CANCELLED"] as const;

export const linkingRoutes = [
  createRoute({
    getParentRoute: () => root,
    path: "/linking",
    component: lazyRouteComponent(() => import("./Projects"), "Projects"),
  }),
  createRoute({
    getParentRoute: () => root,
    path: "/linking/new",
    component: lazyRouteComponent(() => import("./NewProject"), "NewProject"),
  }),
  createRoute({
    getParentRoute: () => root,
    path: "/linking/$projectId",
    validateSearch: (search: Search) =>
      known({
        tab: oneOf(search.tab, PROJECT_TABS),
        status: someOf(search.status, RECORD_STATES),
        record: number(search.record),
      }),
    component: lazyRouteComponent(() => import("./Project"), "Project"),
  }),
  createRoute({
    getParentRoute: () => root,
    path: "/linking/$projectId/review",
    validateSearch: (search: Search) =>
      known({
        record: number(search.record),
      }),
    component: lazyRouteComponent(() => import("./Review"), "Review"),
  }),
] as const;
