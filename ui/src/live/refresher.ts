import type { QueryClient, QueryKey } from "@tanstack/react-query";
import type { LiveEvent } from "./events";

/** A lone change is fetched at once; what is shown is fetched again at most this often, however much happens. */
const AT_MOST_EVERY_MS = 150;
/** What sums up the whole system, or lists everything, changes with every item: once a second is as much as anybody can read. */
const SUMS_EVERY_MS = 1000;
const SUMS = new Set<unknown>(["overview", "stages", "workers", "jobs"]);

export type Waiting = { key: QueryKey; everyMs: number };

/** What an event makes stale; none: nothing. An empty key is everything. */
export function stale(event: LiveEvent): QueryKey[] {
  switch (event.kind) {
    case "job":
      return [["job", event.jobId], ["jobs"], ["overview"]];
    case "stage":
      return [["stages"], ["overview"], ["workers"]];
    case "object":
      return [["object", event.type]];
    case "reset":
      return [[]];
    default:
      return [];
  }
}

export function everyMs(key: QueryKey): number {
  return SUMS.has(key[0]) ? SUMS_EVERY_MS : AT_MOST_EVERY_MS;
}

/** Fetches what events make stale: the first of them at once, those that follow after the pause of their key. */
export class Refresher {
  private waiting = new Map<string, QueryKey>();
  private refreshedAt = new Map<string, number>();
  private timer: ReturnType<typeof setTimeout> | undefined;

  constructor(
    private readonly queries: QueryClient,
    private readonly clock: () => number = () => performance.now(),
  ) {}

  hear(event: LiveEvent): void {
    for (const key of stale(event)) this.waiting.set(JSON.stringify(key), key);
    this.schedule();
  }

  stop(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
  }

  private dueAt(name: string, key: QueryKey): number {
    return (this.refreshedAt.get(name) ?? -Infinity) + everyMs(key);
  }

  private schedule(): void {
    clearTimeout(this.timer);
    if (this.waiting.size === 0) return;
    const next = Math.min(...[...this.waiting].map(([name, key]) => this.dueAt(name, key)));
    this.timer = setTimeout(() => this.refresh(), Math.max(0, next - this.clock()));
  }

  private refresh(): void {
    const now = this.clock();
    const due = [...this.waiting].filter(([name, key]) => this.dueAt(name, key) <= now);
    for (const [name, key] of due) {
      this.waiting.delete(name);
      this.refreshedAt.set(name, now);
      // A fetch that is under way goes on to its end, which it would never reach under a steady stream of events; but it
      // may have begun before the change, so it is asked once more afterwards.
      if (this.queries.isFetching({ queryKey: key }) > 0) this.waiting.set(name, key);
      void this.queries.invalidateQueries({ queryKey: key }, { cancelRefetch: false });
    }
    // Jobs come and go; what was fetched long ago may be fetched at once.
    for (const [name, at] of this.refreshedAt) if (now - at > SUMS_EVERY_MS) this.refreshedAt.delete(name);
    this.schedule();
  }
}
