/** Runs `work` when it is asked to: at once if nothing happens, never twice at a time, and not more often than `everyMs`.
 * Whoever asks while it runs gets a run that begins afterwards. */
export class Pace {
  private timer: ReturnType<typeof setTimeout> | undefined;
  private busy = false;
  private again = false;
  private last = -Infinity;

  constructor(
    private readonly work: () => Promise<unknown>,
    private readonly everyMs: number,
  ) {}

  ask(): void {
    if (this.busy) this.again = true;
    else this.timer ??= setTimeout(() => void this.run(), Math.max(0, this.last + this.everyMs - performance.now()));
  }

  stop(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    this.again = false;
  }

  private async run(): Promise<void> {
    this.timer = undefined;
    this.busy = true;
    this.last = performance.now();
    try {
      await this.work();
    } catch {
      // A hint that could not be followed: the next one is.
    } finally {
      this.busy = false;
      if (this.again) {
        this.again = false;
        this.ask();
      }
    }
  }
}
