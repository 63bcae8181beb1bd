import { MantineProvider } from "@mantine/core";
import "@mantine/core/styles.layer.css";
import { Notifications } from "@mantine/notifications";
import "@mantine/notifications/styles.layer.css";
import { QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { setNonce } from "get-nonce";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { queries } from "./api/queries";
import { router } from "./router";
import { markMissingParts } from "./shell/missingPart";
import "./styles.css";
import { colorSchemeManager, theme } from "./theme";

// Styles that are made while the page runs carry the nonce of the answer, or the policy refuses them.
const nonce = document.querySelector<HTMLMetaElement>("meta[name=style-nonce]")?.content ?? "";
setNonce(nonce);

markMissingParts();

const root = document.getElementById("root");
if (root === null) throw new Error("The page has no #root.");

createRoot(root).render(
  <StrictMode>
    <MantineProvider theme={theme} defaultColorScheme="auto" colorSchemeManager={colorSchemeManager} getStyleNonce={() => nonce}>
      <Notifications position="top-center" limit={2} className="toasts" />
      <QueryClientProvider client={queries}>
        <RouterProvider router={router} />
      </QueryClientProvider>
    </MantineProvider>
  </StrictMode>,
);
