import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { known, number, text, type Search } from "~/address";
import { root } from "~/root";

export const runningRoutes = [
  createRoute({
    getParentRoute: () => root,
    path: "/stages",
    component: lazyRouteComponent(() => import("./Stages"), "Stages"),
  }),
  createRoute({
    getParentRoute: () => root,
    path: "/stages/$pipeline/$stage",
    validateSearch: (search: Search) =>
      known({
        minutes: number(search.minutes),
      }),
    component: lazyRouteComponent(() => import("./Stage"), "Stage"),
  }),
  createRoute({
    getParentRoute: () => root,
    path: "/workers",
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
    component: lazyRouteComponent(() => import("./Schedules"), "Schedules"),
  }),
] as const;
