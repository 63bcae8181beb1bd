import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { flag, known, number, text, type Search } from "~/address";
import { root } from "~/root";
import { rangeOf } from "./history";

export const runningRoutes = [
  createRoute({
    getParentRoute: () => root,
    path: "/stages",
    validateSearch: (search: Search) =>
      known({
        q: text(search.q),
        busy: flag(search.busy),
      }),
    component: lazyRouteComponent(() => import("./Stages"), "Stages"),
  }),
  createRoute({
    getParentRoute: () => root,
    path: "/stages/$pipeline/$stage",
    validateSearch: (search: Search) =>
      known({
        minutes: rangeOf(number(search.minutes)),
      }),
    component: lazyRouteComponent(() => import("./Stage"), "Stage"),
  }),
  createRoute({
    getParentRoute: () => root,
    path: "/workers",
    validateSearch: (search: Search) =>
      known({
        worker: number(search.worker),
      }),
    component: lazyRouteComponent(() => import("./Workers"), "Workers"),
  }),
  createRoute({
    getParentRoute: () => root,
    path: "/limits",
    validateSearch: (search: Search) =>
      known({
        key: text(search.key),
      }),
    component: lazyRouteComponent(() => import("./Limits"), "Limits"),
  }),
  createRoute({
    getParentRoute: () => root,
    path: "/schedules",
    validateSearch: (search: Search) =>
      known({
        name: text(search.name),
      }),
    component: lazyRouteComponent(() => import("./Schedules"), "Schedules"),
  }),
] as const;
