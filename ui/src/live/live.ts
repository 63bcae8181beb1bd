import { createContext, useContext, useEffect, useEffectEvent, useSyncExternalStore } from "react";
import type { Connection, LiveState } from "./connection";
import type { LiveEvent } from "./events";

export const LiveContext = createContext<Connection | null>(null);

export function useConnection(): Connection {
  const connection = useContext(LiveContext);
  if (connection === null) throw new Error("useConnection outside of LiveProvider");
  return connection;
}

/** Calls `listener` with every event that this user may see, while the component is there. */
export function useLive(listener: (event: LiveEvent) => void): void {
  const connection = useConnection();
  const told = useEffectEvent(listener);
  useEffect(() => connection.listen((event) => told(event)), [connection]);
}

export function useLiveState(): LiveState {
  const connection = useConnection();
  return useSyncExternalStore(
    (changed) => connection.watch(changed),
    () => connection.shown,
  );
}
