// Which rows have to be asked for again, and when. Without a clock or a connection of its own, so that it can be tested.

/** Not more often, however much happens. A lone change is asked for at once. */
export const AT_MOST_EVERY_MS = 150;
/** As many as the service tells at one time. */
const MOST = 200;
const REMEMBERED = 5000;

type Clock = { now: () => number; later: (ms: number, act: () => void) => unknown };

const clockOfTheBrowser: Clock = { now: () => performance.now(), later: (ms, act) => setTimeout(act, ms) };

/** `fetch` asks for the rows with these ids; one request at a time. */
export class Patcher {
  private visible: number[] = [];
  private heardAt = -Infinity;
  private askedAt = -Infinity;
  private askedFor = new Map<number, number>();
  private busy = false;
  private planned = false;
  private stopped = false;

  constructor(
    private readonly fetch: (ids: number[]) => Promise<void>,
    private readonly clock: Clock = clockOfTheBrowser,
  ) {}

  /** Something changed: what is on screen may be old. */
  hear(): void {
    this.heardAt = this.clock.now();
    this.plan();
  }

  /** These rows were fetched by a request that began at `began`. */
  loaded(ids: readonly number[], began: number): void {
    if (this.askedFor.size > REMEMBERED) this.askedFor.clear();
    for (const id of ids) this.askedFor.set(id, began);
  }

  see(ids: number[]): void {
    this.visible = ids;
    if (this.stale().length > 0) this.plan();
  }

  stop(): void {
    this.stopped = true;
  }

  now(): number {
    return this.clock.now();
  }

  private stale(): number[] {
    return this.visible.filter((id) => (this.askedFor.get(id) ?? 0) <= this.heardAt).slice(0, MOST);
  }

  private plan(): void {
    if (this.planned || this.busy || this.stopped) return;
    this.planned = true;
    this.clock.later(Math.max(0, this.askedAt + AT_MOST_EVERY_MS - this.clock.now()), () => void this.ask());
  }

  private async ask(): Promise<void> {
    this.planned = false;
    const ids = this.stale();
    if (ids.length === 0 || this.stopped) return;
    this.busy = true;
    this.askedAt = this.clock.now();
    try {
      await this.fetch(ids);
      this.loaded(ids, this.askedAt);
    } catch {
      // The next change, or the next look, asks again.
    } finally {
      this.busy = false;
    }
    if (this.heardAt >= this.askedAt) this.plan();
  }
}
