import { useMutation } from "@tanstack/react-query";
import { useCallback } from "react";
import { api, ask } from "~/api/client";

/** Ends the session, here and in every tab of this browser, and shows the sign-in page. */
export function useSignOut(): () => void {
  const { mutate } = useMutation({
    mutationFn: () => ask(api.POST("/api/logout")),
    onSuccess: () => location.assign("/login"),
    meta: { touches: [] },
  });
  return useCallback(() => mutate(), [mutate]);
}
