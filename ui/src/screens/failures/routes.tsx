import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { flag, known, number, oneOf, text, type Search } from "~/address";
import { root } from "~/root";

export const failuresRoutes = [
  createRoute({
    getParentRoute: () => root,
    path: "/errors",
    validateSearch: (search: Search) =>
      known({
        hours: number(search.hours),
        jobId: number(search.jobId),
        everybody: flag(search.everybody),
        group: text(search.group),
      }),
    component: lazyRouteComponent(() => import("./Errors"), "Errors"),
  }),
  createRoute({
    getParentRoute: () => root,
    path: "/dead-letters",
    validateSearch: (search: Search) =>
      known({
        tab: oneOf(search.tab, ["messages"]),
        state: oneOf(search.state, ["replayed", "all"] as const),
        pipeline: text(search.pipeline),
        stage: text(search.stage),
        group: text(search.group),
        everybody: flag(search.everybody),
        item: number(search.item),
        message: number(search.message),
      }),
    component: lazyRouteComponent(() => import("./DeadLetters"), "DeadLetters"),
  }),
] as const;
