// Every address. A screen is fetched when somebody goes there, and its search parameters are its state.
import { createRouter } from "@tanstack/react-router";
import { Fault } from "./shell/Fault";
import { root } from "./root";
import { articlesRoutes } from "./screens/articles/routes";
import { cataloguesRoutes } from "./screens/catalogues/routes";
import { failuresRoutes } from "./screens/failures/routes";
import { jobRoutes } from "./screens/job/routes";
import { jobsRoutes } from "./screens/jobs/routes";
import { linkingRoutes } from "./screens/linking/routes";
import { overviewRoutes } from "./screens/overview/routes";
import { peopleRoutes } from "./screens/people/routes";
import { runningRoutes } from "./screens/running/routes";
import { sitesRoutes } from "./screens/sites/routes";
import { uploadRoutes } from "./screens/upload/routes";

const routeTree = root.addChildren([
  ...overviewRoutes,
  ...uploadRoutes,
  ...jobsRoutes,
  ...jobRoutes,
  ...cataloguesRoutes,
  ...sitesRoutes,
  ...linkingRoutes,
  ...articlesRoutes,
  ...failuresRoutes,
  ...runningRoutes,
  ...peopleRoutes,
]);

export const router = createRouter({
  routeTree,
  defaultPreload: "intent",
  scrollRestoration: true,
  defaultErrorComponent: Fault,
});

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router;
  }
}
