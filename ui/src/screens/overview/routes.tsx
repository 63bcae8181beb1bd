import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { known, number, type Search } from "~/address";
import { root } from "~/root";
import { rangeOf } from "~/screens/running/history";

export const overviewRoutes = [
  createRoute({
    getParentRoute: () => root,
    path: "/",
    validateSearch: (search: Search) =>
      known({
        minutes: rangeOf(number(search.minutes)),
      }),
    component: lazyRouteComponent(() => import("./Overview"), "Overview"),
  }),
] as const;
