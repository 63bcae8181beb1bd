import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { flag, known, oneOf, text, type Search } from "~/address";
import { root } from "~/root";

/** Beside the first one, which is left out of the address. */
export const SITE_TABS = ["prompts", "answers", "scores", "report"] as const;
export const SITE_SHOWN = ["open", "failed", "done"] as const;
export const ADDING = ["list", "sitemap", "file"] as const;

export const sitesRoutes = [
  createRoute({
    getParentRoute: () => root,
    path: "/sites",
    validateSearch: (search: Search) =>
      known({
        add: flag(search.add),
        from: oneOf(search.from, ADDING),
        everybody: flag(search.everybody),
      }),
    component: lazyRouteComponent(() => import("./Analyses"), "Analyses"),
  }),
  createRoute({
    getParentRoute: () => root,
    path: "/sites/$jobId",
    validateSearch: (search: Search) =>
      known({
        show: oneOf(search.show, SITE_SHOWN),
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
