import { Tooltip, UnstyledButton, VisuallyHidden } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { CircleAlert, Pause, Radio, RefreshCw, type LucideIcon } from "lucide-react";
import { useEffect } from "react";
import type { LiveState } from "~/live/connection";
import { useConnection, useLiveState } from "~/live/live";
import classes from "./shell.module.css";

const LOOKS: Record<LiveState, [LucideIcon, string, string]> = {
  connecting: [RefreshCw, "Connecting", "The live connection is being opened."],
  live: [Radio, "Live", "Changes appear as they happen. Press to pause."],
  paused: [Pause, "Paused", "Nothing moves until you press again; then everything is fetched."],
  reconnecting: [RefreshCw, "Reconnecting", "The service does not answer. It is tried again; nothing is lost."],
  stale: [CircleAlert, "Stale", "The database does not answer, so what you see may be old."],
};

export function LivePill() {
  const connection = useConnection();
  const queries = useQueryClient();
  const state = useLiveState();
  const [Icon, word, about] = LOOKS[state];

  // The stream of a session that has ended closes without a reason. Asking who one is finds out, and leads to the login.
  useEffect(() => {
    if (state === "reconnecting") void queries.invalidateQueries({ queryKey: ["me"] });
  }, [state, queries]);

  return (
    <>
      <Tooltip label={about} multiline maw={280}>
        <UnstyledButton
          className={classes.pill}
          data-live={state}
          aria-pressed={state === "paused"}
          aria-label={`${word}. ${about}`}
          onClick={() => connection.setPaused(state !== "paused")}
        >
          <Icon size={14} aria-hidden />
          <span>{word}</span>
        </UnstyledButton>
      </Tooltip>
      {/* Read out while it is not live. */}
      <VisuallyHidden role="status">{state === "connecting" || state === "live" ? "" : `${word}. ${about}`}</VisuallyHidden>
    </>
  );
}
