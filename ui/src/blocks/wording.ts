// Numbers, times and states in the words people read. Everything that is shown goes through here.

const whole = new Intl.NumberFormat("en");

export function count(value: number | null | undefined, estimate = false): string {
  if (value === null || value === undefined) return "–";
  return (estimate ? "≈ " : "") + whole.format(value);
}

/** "1 row", "2,000 rows". */
export function many(value: number, one: string, several = `${one}s`): string {
  return `${count(value)} ${value === 1 ? one : several}`;
}

export function percent(share: number): string {
  const value = share * 100;
  if (value > 0 && value < 1) return "<1 %";
  if (value > 99 && value < 100) return "99 %";
  return `${Math.round(value)} %`;
}

export function rate(perSecond: number | null | undefined): string {
  if (perSecond === null || perSecond === undefined) return "–";
  if (perSecond === 0) return "0/s";
  if (perSecond < 0.95) return `${trimmed(perSecond * 60)}/min`;
  return `${trimmed(perSecond)}/s`;
}

/** "37 min at 4.9/s, limited by wikidata 5/s"; without a time the cause alone; null: neither is known. */
export function etaWords(seconds: number | null, perSecond: number | null, cause: string | null): string | null {
  if (seconds === null) return cause && cause.charAt(0).toUpperCase() + cause.slice(1);
  return `${duration(seconds)} at ${rate(perSecond)}${cause ? `, ${cause}` : ""}`;
}

function trimmed(value: number): string {
  return value >= 100 ? count(Math.round(value)) : value.toFixed(1).replace(/\.0$/, "");
}

/** "850 ms", "3.2 s", "41 s", "2 m 48 s", "37 min", "5 h 12 min", "3 days". */
export function duration(seconds: number | null | undefined): string {
  if (seconds === null || seconds === undefined || !Number.isFinite(seconds)) return "–";
  const value = Math.max(0, seconds);
  if (value === 0) return "0 s";
  if (value < 0.995) return `${Math.max(1, Math.round(value * 1000))} ms`;
  if (value < 9.95) return `${trimmed(value)} s`;
  if (value < 59.5) return `${Math.round(value)} s`;
  const minutes = Math.floor(Math.round(value) / 60);
  if (value < 600) return `${minutes} min ${Math.round(value) - minutes * 60} s`.replace(" 0 s", "");
  if (value < 3570) return `${Math.round(value / 60)} min`;
  const rounded = Math.round(value / 60);
  if (rounded < 48 * 60) return `${Math.floor(rounded / 60)} h ${rounded % 60} min`.replace(" 0 min", "");
  return `${Math.round(value / 86400)} days`;
}

export function milliseconds(ms: number | null | undefined): string {
  return ms === null || ms === undefined ? "–" : duration(ms / 1000);
}

export function bytes(value: number | null | undefined): string {
  if (value === null || value === undefined) return "–";
  const units = ["B", "kB", "MB", "GB", "TB"];
  let size = value;
  let unit = 0;
  while (size >= 999.5 && unit < units.length - 1) {
    size /= 1000;
    unit += 1;
  }
  return `${unit === 0 ? size : trimmed(size)} ${units[unit] ?? ""}`;
}

/** "just now", "41 s ago", "in 3 min". */
export function ago(when: string | Date, now: number = Date.now()): string {
  const seconds = (now - new Date(when).getTime()) / 1000;
  if (Math.abs(seconds) < 1.5) return "just now";
  return seconds < 0 ? `in ${duration(-seconds)}` : `${duration(seconds)} ago`;
}

const clock = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit" });
const day = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", year: "numeric" });

/** "14:03:22" today, "2 Nov 2026, 14:03:22" else. */
export function moment(when: string | Date | null | undefined, now: Date = new Date()): string {
  if (when === null || when === undefined) return "–";
  const at = new Date(when);
  return at.toDateString() === now.toDateString() ? clock.format(at) : `${day.format(at)}, ${clock.format(at)}`;
}

/** The words of a state: PENDING is "Waiting" for people. */
const WORDS: Record<string, string> = {
  PENDING: "Waiting",
  PROCESSING: "Running",
  DONE: "Done",
  ERROR: "Failed",
  NOT_FOUND: "Not found",
  SKIPPED: "Skipped",
  CANCELLED: "Cancelled",
  QUEUED: "Queued",
  RUNNING: "Running",
  PAUSED: "Paused",
  FAILED: "Failed",
};

type Looked = { updatedAt: string; looksAgainAt: string | null; attempts: number };

/** Of what was not found and is looked for again; null of everything else. */
export function looksAgain(item: Looked): string | null {
  if (item.looksAgainAt === null) return null;
  return `Looks again at ${moment(item.looksAgainAt)}, as try ${item.attempts + 1}; not found at ${moment(item.updatedAt)}`;
}

export function stateWord(state: string): string {
  return WORDS[state] ?? sentence(state);
}

/** "needs_review" is "Needs review". */
export function sentence(name: string): string {
  const words = name.toLowerCase().replaceAll(/[_-]+/g, " ");
  return words.charAt(0).toUpperCase() + words.slice(1);
}
