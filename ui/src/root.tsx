import { createRootRoute } from "@tanstack/react-router";
import { Suspense } from "react";
import { Loading } from "./blocks/Trouble";
import { LiveProvider } from "./live/LiveProvider";
import { NotFound } from "./shell/NotFound";
import { Shell } from "./shell/Shell";

export const root = createRootRoute({ component: Root, notFoundComponent: NotFound });

/** Nothing is shown before it is known who looks. */
function Root() {
  return (
    <Suspense fallback={<Loading />}>
      <LiveProvider>
        <Shell />
      </LiveProvider>
    </Suspense>
  );
}
