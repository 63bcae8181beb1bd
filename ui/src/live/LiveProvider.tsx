import { useQueryClient, type QueryClient } from "@tanstack/react-query";
import { useEffect, useState, type ReactNode } from "react";
import { useMe } from "~/shell/me";
import { Connection } from "./connection";
import type { LiveEvent } from "./events";
import { LiveContext } from "./live";

/** A lone change is fetched at once; what is shown is fetched again at most this often, however much happens. */
const AT_MOST_EVERY_MS = 150;

/**
 * Keys of queries begin with what they are about, and that is how they are found here:
 * ["job", id, …], ["jobs", …], ["stages", …], ["overview", …], ["object", type, id, …].
 */
export function LiveProvider({ children }: { children: ReactNode }) {
  const queries = useQueryClient();
  const [connection] = useState(() => new Connection());
  const everybodys = useMe().role === "admin";

  useEffect(() => {
    const refresher = new Refresher(queries);
    const leave = connection.listen((event) => refresher.hear(event));
    connection.start(everybodys);
    return () => {
      leave();
      refresher.stop();
      connection.stop();
    };
  }, [connection, queries, everybodys]);

  return <LiveContext value={connection}>{children}</LiveContext>;
}

class Refresher {
  private waiting = new Map<string, readonly unknown[]>();
  private everything = false;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private refreshedAt = -Infinity;

  constructor(private readonly queries: QueryClient) {}

  hear(event: LiveEvent): void {
    switch (event.kind) {
      case "job":
        this.add(["job", event.jobId], ["jobs"], ["overview"]);
        break;
      case "stage":
        this.add(["stages"], ["overview"], ["workers"]);
        break;
      case "object":
        this.add(["object", event.type]);
        break;
      case "reset":
        this.everything = true;
        break;
      default:
        return;
    }
    this.schedule();
  }

  stop(): void {
    clearTimeout(this.timer);
  }

  private add(...keys: (readonly unknown[])[]): void {
    for (const key of keys) this.waiting.set(JSON.stringify(key), key);
  }

  private schedule(): void {
    const wait = this.refreshedAt + AT_MOST_EVERY_MS - performance.now();
    this.timer ??= setTimeout(() => this.refresh(), Math.max(0, wait));
  }

  private refresh(): void {
    this.timer = undefined;
    this.refreshedAt = performance.now();
    const { everything, waiting } = this;
    this.everything = false;
    this.waiting = new Map();
    const keys = everything ? [[]] : [...waiting.values()];
    for (const queryKey of keys) {
      // A fetch that is under way goes on to its end, which it would never reach under a steady stream of events; but it
      // may have begun before the change, so it is asked once more afterwards.
      if (this.queries.isFetching({ queryKey }) > 0) this.again(queryKey);
      void this.queries.invalidateQueries({ queryKey }, { cancelRefetch: false });
    }
  }

  private again(queryKey: readonly unknown[]): void {
    if (queryKey.length === 0) this.everything = true;
    else this.add(queryKey);
    this.schedule();
  }
}
