import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { flag, known, number, oneOf, someOf, text, texts, time, type Search } from "~/address";
import { root } from "~/root";

export const TABS = ["pending", "timeline", "settings"] as const;
export const ITEM_STATES = ["PENDING", "PROCESSING", "DONE", "ERROR", "NOT_FOUND", "SKIPPED", "CANCELLED"] as const;
export const OPEN = ["PENDING", "PROCESSING"] as const;

export const jobRoutes = [
  createRoute({
    getParentRoute: () => root,
    path: "/jobs/$jobId",
    validateSearch: (search: Search) =>
      known({
        tab: oneOf(search.tab, TABS),
        status: someOf(search.status, ITEM_STATES),
        /** Of the tab Pending, whose list is not that of the grid. */
        pendingStatus: someOf(search.pendingStatus, ITEM_STATES),
        sort: oneOf(search.sort, ["updated"]),
        group: text(search.group),
        row: number(search.row),
        columns: texts(search.columns),
        since: time(search.since),
        until: time(search.until),
        item: number(search.item),
      }),
    component: lazyRouteComponent(() => import("./Job"), "Job"),
  }),
  createRoute({
    getParentRoute: () => root,
    path: "/pending",
    validateSearch: (search: Search) =>
      known({
        status: someOf(search.status, ITEM_STATES),
        type: text(search.type),
        jobId: number(search.jobId),
        since: time(search.since),
        until: time(search.until),
        everybody: flag(search.everybody),
        item: number(search.item),
      }),
    component: lazyRouteComponent(() => import("./Pending"), "Pending"),
  }),
  createRoute({
    getParentRoute: () => root,
    path: "/items/$itemId",
    component: lazyRouteComponent(() => import("./Item"), "Item"),
  }),
] as const;
