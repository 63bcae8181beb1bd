import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { flag, known, number, oneOf, text, time, type Search } from "~/address";
import { root } from "~/root";

/** "You" is the one that stands in no address. */
export const SETTINGS_TABS = ["users", "tokens", "retention", "features"] as const;

export const peopleRoutes = [
  createRoute({
    getParentRoute: () => root,
    path: "/audit",
    validateSearch: (search: Search) =>
      known({
        actor: text(search.actor),
        action: text(search.action),
        kind: text(search.kind),
        object: text(search.object),
        since: time(search.since),
        until: time(search.until),
        looks: flag(search.looks),
        entry: number(search.entry),
      }),
    component: lazyRouteComponent(() => import("./Audit"), "Audit"),
  }),
  createRoute({
    getParentRoute: () => root,
    path: "/settings",
    validateSearch: (search: Search) =>
      known({
        tab: oneOf(search.tab, SETTINGS_TABS),
      }),
    component: lazyRouteComponent(() => import("./Settings"), "Settings"),
  }),
] as const;
