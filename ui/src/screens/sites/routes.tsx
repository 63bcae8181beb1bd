import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { flag, known, oneOf, text, type Search } from "~/address";
import { root } from "~/root";

export const SITE_TABS = ["prompts", "answers", "report"] as const;

export const sitesRoutes = [
  createRoute({
    getParentRoute: () => root,
    path: "/sites",
    validateSearch: (search: Search) =>
      known({
        add: flag(search.add),
      }),
    component: lazyRouteComponent(() => import("./Analyses"), "Analyses"),
  }),
  createRoute({
    getParentRoute: () => root,
    path: "/sites/$jobId",
    validateSearch: (search: Search) =>
      known({
        q: text(search.q),
      }),
    component: lazyRouteComponent(() => import("./Analysis"), "Analysis"),
  }),
  createRoute({
    getParentRoute: () => root,
    path: "/sites/$jobId/$siteId",
    validateSearch: (search: Search) =>
      known({
        tab: oneOf(search.tab, SITE_TABS),
        prompt: text(search.prompt),
        model: text(search.model),
      }),
    component: lazyRouteComponent(() => import("./Site"), "Site"),
  }),
] as const;
