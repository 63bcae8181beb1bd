import { Text, Tooltip } from "@mantine/core";
import { useEffect, useSyncExternalStore } from "react";
import { ago, moment } from "./wording";

// One clock for all times on a page, which stands still when none is shown.
let now = Date.now();
const watchers = new Set<() => void>();
let ticking: ReturnType<typeof setInterval> | undefined;

function subscribe(changed: () => void): () => void {
  watchers.add(changed);
  ticking ??= setInterval(() => {
    now = Date.now();
    for (const watcher of watchers) watcher();
  }, 1000);
  return () => {
    watchers.delete(changed);
    if (watchers.size === 0) {
      clearInterval(ticking);
      ticking = undefined;
    }
  };
}

/** The time now, to the second, for what counts down or up. */
export function useNow(): number {
  useEffect(() => {
    now = Date.now();
  }, []);
  return useSyncExternalStore(subscribe, () => now);
}

/** "41 s ago"; the exact time as a tooltip. */
export function When({ at }: { at: string | null | undefined }) {
  const clock = useNow();
  if (!at) return <Text span>–</Text>;
  return (
    <Tooltip label={moment(at)} openDelay={300}>
      <time dateTime={at} className="numbers">
        {ago(at, clock)}
      </time>
    </Tooltip>
  );
}
