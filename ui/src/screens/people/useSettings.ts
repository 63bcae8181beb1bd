import { useMutation, useQuery } from "@tanstack/react-query";
import { api, ask, type Schemas } from "~/api/client";

export function useSettings() {
  return useQuery({ queryKey: ["settings"], queryFn: ({ signal }) => ask(api.GET("/api/settings", { signal })) });
}

export function useChangeSettings(onSuccess: () => void) {
  return useMutation({
    mutationFn: (body: Partial<Schemas["SettingsChange"]>) => ask(api.PATCH("/api/settings", { body: body as Schemas["SettingsChange"] })),
    meta: { touches: [["settings"], ["me"]] },
    onSuccess,
  });
}
