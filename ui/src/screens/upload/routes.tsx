import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { known, text, type Search } from "~/address";
import { root } from "~/root";

export const uploadRoutes = [
  createRoute({
    getParentRoute: () => root,
    path: "/upload",
    validateSearch: (search: Search) =>
      known({
        pipeline: text(search.pipeline),
      }),
    component: lazyRouteComponent(() => import("./Upload"), "Upload"),
  }),
] as const;
