import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { known, oneOf, text, type Search } from "~/address";
import { root } from "~/root";
import { DELIMITERS, FILE_STATES, UPLOAD_TABS } from "./search";

export const uploadRoutes = [
  createRoute({
    getParentRoute: () => root,
    path: "/upload",
    validateSearch: (search: Search) =>
      known({
        tab: oneOf(search.tab, UPLOAD_TABS),
        pipeline: text(search.pipeline),
        encoding: text(search.encoding),
        delimiter: oneOf(search.delimiter, DELIMITERS),
        header: oneOf(search.header, ["yes", "no"]),
        sheet: text(search.sheet),
        /** The watched place whose drawer is open, and which of its files are shown. */
        place: text(search.place),
        files: oneOf(search.files, FILE_STATES),
      }),
    component: lazyRouteComponent(() => import("./Upload"), "Upload"),
  }),
] as const;
