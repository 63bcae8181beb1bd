// One live connection per browser: of all open tabs one listens, and tells the others.
//
// Who listens is decided by a Web Lock, which the browser gives to the next tab when one is closed or dies. Every tab
// knows the id of the last event, so whoever comes next goes on there. Where there are no Web Locks (a page over plain
// HTTP from another machine) every tab listens for itself.
import { isNews, KINDS, type LiveEvent, parsed, type Told } from "./events";

export type LiveState = "connecting" | "live" | "reconnecting" | "stale" | "paused";

const LOCK = "penstock-live";
const CHANNEL = "penstock-live";
const FIRST_WAIT_MS = 250;
const LONGEST_WAIT_MS = 1500;
/** The service beats every 15 s: this long without a word means that the line is dead though nobody said so. */
const SILENCE_MS = 40_000;

type Message = { told: Told } | { state: LiveState } | { hello: true } | { state: LiveState; last: string };

export class Connection {
  state: LiveState = "connecting";
  private listeners = new Set<(event: LiveEvent) => void>();
  private watchers = new Set<() => void>();
  private channel: BroadcastChannel | null = null;
  private source: EventSource | null = null;
  private everybodys = false;
  private leading = false;
  private paused = false;
  private missed = false;
  private waitMs = FIRST_WAIT_MS;
  private timers = new Set<ReturnType<typeof setTimeout>>();
  private silence: ReturnType<typeof setTimeout> | undefined;
  private ending = new AbortController();

  /** `last`: the newest event before the page fetched what it shows. */
  constructor(private last: string) {}

  /** `everybodys`: also what others own, for admins. */
  start(everybodys: boolean): void {
    this.everybodys = everybodys;
    this.ending = new AbortController();
    if (!("locks" in navigator) || !("BroadcastChannel" in window)) {
      this.leading = true;
      this.open();
      return;
    }
    this.channel = new BroadcastChannel(CHANNEL);
    this.channel.onmessage = (message: MessageEvent<Message>) => this.hear(message.data);
    this.channel.postMessage({ hello: true } satisfies Message);
    navigator.locks
      .request(LOCK, { signal: this.ending.signal }, async () => {
        this.leading = true;
        this.open();
        await new Promise<void>((resolve) => this.ending.signal.addEventListener("abort", () => resolve()));
      })
      .catch(() => undefined);
  }

  stop(): void {
    this.ending.abort();
    this.leading = false;
    this.close();
    this.channel?.close();
    this.channel = null;
  }

  /** Events gather while paused: going on fetches everything once. */
  setPaused(paused: boolean): void {
    this.paused = paused;
    if (!paused && this.missed) {
      this.missed = false;
      this.deliver({ kind: "reset", reason: "paused" });
    }
    this.tellWatchers();
  }

  get shown(): LiveState {
    return this.paused ? "paused" : this.state;
  }

  listen(listener: (event: LiveEvent) => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  watch(watcher: () => void): () => void {
    this.watchers.add(watcher);
    return () => this.watchers.delete(watcher);
  }

  private open(): void {
    this.close();
    const asked = new URLSearchParams({ userId: this.everybodys ? "all" : "me", lastEventId: this.last });
    const source = new EventSource(`/api/stream?${asked}`);
    this.source = source;
    source.onopen = () => {
      this.waitMs = FIRST_WAIT_MS;
      this.heardSomething();
    };
    // Not left to the browser: it waits longer than people like, and gives up for ever on any status but 200.
    source.onerror = () => this.openAgain();
    for (const kind of KINDS) {
      source.addEventListener(kind, (message: MessageEvent<string>) => {
        this.heardSomething();
        const event = parsed(kind, message.data);
        if (event !== null) this.take({ id: message.lastEventId, event }, true);
      });
    }
  }

  private openAgain(): void {
    this.close();
    this.become("reconnecting");
    const wait = this.waitMs * (0.75 + Math.random() / 2);
    this.waitMs = Math.min(this.waitMs * 2, LONGEST_WAIT_MS);
    this.later(wait, () => this.leading && this.open());
  }

  private heardSomething(): void {
    clearTimeout(this.silence);
    this.silence = setTimeout(() => this.openAgain(), SILENCE_MS);
  }

  private take(told: Told, first: boolean): void {
    if (first) this.channel?.postMessage({ told } satisfies Message);
    const { id, event } = told;
    if (event.kind === "live") this.become("live");
    else if (event.kind === "stale") this.become("stale");
    const news = isNews(id, this.last);
    if (id) this.last = id;
    if (event.kind === "beat" || event.kind === "live" || event.kind === "stale") return;
    // A reset has the number of the event before it, and counts all the same.
    if (!news && event.kind !== "reset") return;
    if (this.paused) this.missed = true;
    else this.deliver(event);
  }

  private hear(message: Message): void {
    if ("hello" in message) {
      if (this.leading) this.channel?.postMessage({ state: this.state, last: this.last } satisfies Message);
    } else if ("told" in message) {
      this.take(message.told, false);
    } else {
      // A tab that has just come did not hear what was told between its first fetch and its first message.
      if ("last" in message && isNews(message.last, this.last)) {
        this.last = message.last;
        this.deliver({ kind: "reset", reason: "began to listen" });
      }
      if (!this.leading) this.become(message.state);
    }
  }

  private become(state: LiveState): void {
    if (state === this.state) return;
    this.state = state;
    if (this.leading) this.channel?.postMessage({ state } satisfies Message);
    this.tellWatchers();
  }

  private deliver(event: LiveEvent): void {
    for (const listener of [...this.listeners]) listener(event);
  }

  private tellWatchers(): void {
    for (const watcher of [...this.watchers]) watcher();
  }

  private later(ms: number, act: () => void): void {
    const timer = setTimeout(() => {
      this.timers.delete(timer);
      act();
    }, ms);
    this.timers.add(timer);
  }

  private close(): void {
    clearTimeout(this.silence);
    for (const timer of this.timers) clearTimeout(timer);
    this.timers.clear();
    this.source?.close();
    this.source = null;
  }
}
