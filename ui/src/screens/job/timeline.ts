// Endings per minute as a chart needs them: rising times without gaps, and not too many.

export type Minute = { minute: string; done: number; failed: number };
export type Series = { times: number[]; done: number[]; failed: number[]; minutes: number };

const MOST = 720;
// Fewer would be a chart of one tick that is written many times.
const LEAST = 20;

/** Minutes without an ending are zeros; a long time is put together into spans of `minutes` each. */
export function series(found: Minute[]): Series {
  const at = found.map((one) => Math.floor(Date.parse(one.minute) / 60_000));
  const first = at[0];
  const last = at.at(-1);
  if (first === undefined || last === undefined) return { times: [], done: [], failed: [], minutes: 1 };
  // At least one span before and after, so that a lone minute is seen as a peak.
  const minutes = Math.max(1, Math.ceil((last - first + 1) / MOST));
  const start = Math.min(first - minutes, last - LEAST * minutes);
  const spans = Math.floor((last - start) / minutes) + 2;
  const done = Array.from({ length: spans }, () => 0);
  const failed = [...done];
  found.forEach((one, index) => {
    const span = Math.floor(((at[index] ?? start) - start) / minutes);
    done[span] = (done[span] ?? 0) + one.done;
    failed[span] = (failed[span] ?? 0) + one.failed;
  });
  return { times: done.map((_, span) => (start + span * minutes) * 60), done, failed, minutes };
}
