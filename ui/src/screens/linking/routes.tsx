import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { flag, known, number, oneOf, someOf, text, type Search } from "~/address";
import { root } from "~/root";

export const PROJECT_TABS = ["setup", "scores"] as const;
export const NEW_FROM = ["paste"] as const;
export const RECORD_STATES = ["NEW", "QUEUED", "MATCHING", "REVIEW", "ACCEPTED", "REJECTED", "NO_CANDIDATE", "ERROR", "CANCELLED"] as const;

/** 0 to 1, to two digits. */
function share(value: unknown): number | undefined {
  const read = typeof value === "string" && value.trim() !== "" ? Number(value) : value;
  return typeof read === "number" && read >= 0 && read <= 1 ? Math.round(read * 100) / 100 : undefined;
}

export const linkingRoutes = [
  createRoute({
    getParentRoute: () => root,
    path: "/linking",
    validateSearch: (search: Search) => known({ everybody: flag(search.everybody) }),
    component: lazyRouteComponent(() => import("./Projects"), "Projects"),
  }),
  createRoute({
    getParentRoute: () => root,
    path: "/linking/new",
    validateSearch: (search: Search) => known({ from: oneOf(search.from, NEW_FROM) }),
    component: lazyRouteComponent(() => import("./NewProject"), "NewProject"),
  }),
  createRoute({
    getParentRoute: () => root,
    path: "/linking/$projectId",
    validateSearch: (search: Search) =>
      known({
        tab: oneOf(search.tab, PROJECT_TABS),
        status: someOf(search.status, RECORD_STATES),
        /** The row that the list starts at. */
        from: number(search.from),
        record: number(search.record),
        min: share(search.min),
        gap: share(search.gap),
        /** The last bulk accept, which can be undone. */
        batch: text(search.batch),
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
