import { useQuery } from "@tanstack/react-query";
import type { ErrorComponentProps } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import { api, ask } from "~/api/client";
import { Loading, Trouble } from "~/blocks/Trouble";
import { isMissingPart, reload, wasReloaded } from "./missingPart";

/** Instead of a screen that could not be shown. */
export function Fault({ error, reset }: ErrorComponentProps) {
  return isMissingPart(error) ? <Missing error={error} /> : <Trouble error={error} again={reset} />;
}

/** The service was away, or runs a newer build. Once it answers, the page is loaded anew; what is missing still is told. */
function Missing({ error }: { error: Error }) {
  const [again] = useState(() => wasReloaded());
  const answered = useQuery({ queryKey: ["me", "answers"], queryFn: ({ signal }) => ask(api.GET("/api/me", { signal })), gcTime: 0 });
  useEffect(() => {
    if (answered.isSuccess && !again) reload();
  }, [answered.isSuccess, again]);
  if (!again && !answered.isError) return <Loading />;
  return <Trouble error={answered.error ?? error} again={() => location.reload()} />;
}
