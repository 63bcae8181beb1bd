import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { known, number, type Search } from "~/address";
import { root } from "~/root";

export const cataloguesRoutes = [
  createRoute({
    getParentRoute: () => root,
    path: "/catalogues",
    component: lazyRouteComponent(() => import("./Catalogues"), "Catalogues"),
  }),
  createRoute({
    getParentRoute: () => root,
    path: "/catalogues/$jobId",
    validateSearch: (search: Search) =>
      known({
        item: number(search.item),
      }),
    component: lazyRouteComponent(() => import("./Catalogue"), "Catalogue"),
  }),
] as const;
