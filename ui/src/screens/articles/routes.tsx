import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { flag, known, number, oneOf, text, time, type Search } from "~/address";
import { root } from "~/root";

export const ARTICLE_TABS = ["edit", "revisions", "similar"] as const;
export const INDEX_TABS = ["tasks", "generations", "queries"] as const;

export const articlesRoutes = [
  createRoute({
    getParentRoute: () => root,
    path: "/articles",
    validateSearch: (search: Search) =>
      known({
        author: text(search.author),
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
        tab: oneOf(search.tab, ARTICLE_TABS),
        revision: number(search.revision),
      }),
    component: lazyRouteComponent(() => import("./Article"), "Article"),
  }),
  createRoute({
    getParentRoute: () => root,
    path: "/search",
    validateSearch: (search: Search) =>
      known({
        q: text(search.q),
        mode: oneOf(search.mode, ["semantic", "keyword"]),
        author: text(search.author),
        since: time(search.since),
        until: time(search.until),
      }),
    component: lazyRouteComponent(() => import("./SearchPage"), "SearchPage"),
  }),
  createRoute({
    getParentRoute: () => root,
    path: "/index",
    validateSearch: (search: Search) =>
      known({
        tab: oneOf(search.tab, INDEX_TABS),
        status: text(search.status),
      }),
    component: lazyRouteComponent(() => import("./Index"), "Index"),
  }),
] as const;
