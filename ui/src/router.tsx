// Every address. A screen is fetched when somebody goes there, and its search parameters are its state.
import { createRouter } from "@tanstack/react-router";
import { Trouble } from "./blocks/Trouble";
import { root } from "./root";
import { overviewRoutes } from "./screens/overview/routes";

const routeTree = root.addChildren([...overviewRoutes]);

export const router = createRouter({
  routeTree,
  defaultPreload: "intent",
  scrollRestoration: true,
  defaultErrorComponent: ({ error, reset }) => <Trouble error={error} again={reset} />,
});

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router;
  }
}
