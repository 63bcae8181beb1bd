// How fast an upload goes, from what was sent in the last seconds: an old burst says nothing about now.

export type Sample = { at: number; sent: number };
export type Pace = { perSecond: number | null; secondsLeft: number | null };

const WINDOW_MS = 5000;

export function kept(samples: Sample[], next: Sample): Sample[] {
  const recent = [...samples, next].filter((one) => one.at >= next.at - WINDOW_MS);
  return recent.length >= 2 ? recent : [...samples.slice(-1), next];
}

export function paceOf(samples: Sample[], total: number): Pace {
  const first = samples[0];
  const last = samples.at(-1);
  if (first === undefined || last === undefined || last.at - first.at < 300) return { perSecond: null, secondsLeft: null };
  const perSecond = ((last.sent - first.sent) / (last.at - first.at)) * 1000;
  if (perSecond <= 0) return { perSecond: 0, secondsLeft: null };
  return { perSecond, secondsLeft: Math.max(0, (total - last.sent) / perSecond) };
}
