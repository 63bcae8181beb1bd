import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { flag, known, number, oneOf, text, time, type Search } from "~/address";
import { root } from "~/root";

// The first one of each is where one begins; it does not stand in the address.
export const ARTICLE_TABS = ["text", "revisions", "similar"] as const;
export const INDEX_TABS = ["generations", "tasks", "queries"] as const;
export const OTHER_MODES = ["semantic", "keyword"] as const;
export const STATUSES = ["pending", "processing", "completed", "failed", "cancelled"] as const;
export const INDEX_DIALOGS = ["reindex", "build", "retry", "clear"] as const;

export const articlesRoutes = [
  createRoute({
    getParentRoute: () => root,
    path: "/articles",
    validateSearch: (search: Search) =>
      known({
        author: text(search.author),
        everybody: flag(search.everybody),
        add: flag(search.add),
      }),
    component: lazyRouteComponent(() => import("./Articles"), "Articles"),
  }),
  createRoute({
    getParentRoute: () => root,
    path: "/articles/new",
    component: lazyRouteComponent(() => import("./NewArticle"), "NewArticle"),
  }),
  createRoute({
    getParentRoute: () => root,
    path: "/articles/$slug",
    validateSearch: (search: Search) =>
      known({
        tab: oneOf(search.tab, ARTICLE_TABS.slice(1)),
        revision: number(search.revision),
        against: oneOf(search.against, ["now"]),
      }),
    component: lazyRouteComponent(() => import("./Article"), "Article"),
  }),
  createRoute({
    getParentRoute: () => root,
    path: "/search",
    validateSearch: (search: Search) =>
      known({
        q: text(search.q),
        mode: oneOf(search.mode, OTHER_MODES),
        author: text(search.author),
        since: time(search.since),
        until: time(search.until),
        everybody: flag(search.everybody),
      }),
    component: lazyRouteComponent(() => import("./SearchPage"), "SearchPage"),
  }),
  createRoute({
    getParentRoute: () => root,
    path: "/index",
    validateSearch: (search: Search) =>
      known({
        tab: oneOf(search.tab, INDEX_TABS.slice(1)),
        status: oneOf(search.status, STATUSES),
        everybody: flag(search.everybody),
        compare: number(search.compare),
        with: number(search.with),
        open: oneOf(search.open, INDEX_DIALOGS),
      }),
    component: lazyRouteComponent(() => import("./Index"), "Index"),
  }),
] as const;
