import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { flag, known, number, oneOf, someOf, type Search } from "~/address";
import { root } from "~/root";
import { CATALOGUE_TABS, PRODUCT_STATES } from "./search";

export const cataloguesRoutes = [
  createRoute({
    getParentRoute: () => root,
    path: "/catalogues",
    validateSearch: (search: Search) =>
      known({
        tab: oneOf(search.tab, CATALOGUE_TABS),
        everybody: flag(search.everybody),
      }),
    component: lazyRouteComponent(() => import("./Catalogues"), "Catalogues"),
  }),
  createRoute({
    getParentRoute: () => root,
    path: "/catalogues/$jobId",
    validateSearch: (search: Search) =>
      known({
        status: someOf(search.status, PRODUCT_STATES),
        item: number(search.item),
      }),
    component: lazyRouteComponent(() => import("./Catalogue"), "Catalogue"),
  }),
] as const;
