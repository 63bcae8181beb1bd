// Whether the service has not answered for longer than a restart takes.
import { useSyncExternalStore } from "react";

const A_RESTART_MS = 2500;

const watchers = new Set<() => void>();
let away = false;
let timer: ReturnType<typeof setTimeout> | undefined;

/** Every answer tells that it is there, and every request that nobody took that it is not. */
export function noteAnswer(answered: boolean): void {
  if (answered) {
    clearTimeout(timer);
    timer = undefined;
    become(false);
  } else if (!away) {
    timer ??= setTimeout(() => become(true), A_RESTART_MS);
  }
}

function become(next: boolean): void {
  if (next === away) return;
  away = next;
  for (const watcher of watchers) watcher();
}

export function useAway(): boolean {
  return useSyncExternalStore(
    (watcher) => {
      watchers.add(watcher);
      return () => watchers.delete(watcher);
    },
    () => away,
  );
}
