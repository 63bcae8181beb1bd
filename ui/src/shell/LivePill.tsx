import { Tooltip, UnstyledButton } from "@mantine/core";
import { CircleAlert, Pause, Radio, RefreshCw, type LucideIcon } from "lucide-react";
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
  const state = useLiveState();
  const [Icon, word, about] = LOOKS[state];
  return (
    <Tooltip label={about} multiline maw={280}>
      <UnstyledButton
        className={classes.pill}
        data-live={state}
        aria-pressed={state === "paused"}
        aria-label={`${word}. ${about}`}
        onClick={() => connection.setPaused(state !== "paused")}
      >
        <Icon size={14} aria-hidden />
        <span className={classes.pillWord}>{word}</span>
      </UnstyledButton>
    </Tooltip>
  );
}
