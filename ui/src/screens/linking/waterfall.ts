// How a score comes about: every part begins where the one before ended.
import type { Schemas } from "~/api/client";

export type Part = Schemas["Part"];

export type Step = Part & {
  /** Where the bar is, 0 to 1. */
  from: number;
  to: number;
};

export function waterfall(parts: Part[]): Step[] {
  let sum = 0;
  return parts.map((part) => {
    const before = sum;
    sum += part.points;
    return { ...part, from: within(Math.min(before, sum)), to: within(Math.max(before, sum)) };
  });
}

/** "+0.51", "−0.20"; nothing gained is "0". */
export function points(value: number): string {
  const rounded = Math.abs(value).toFixed(2);
  if (rounded === "0.00") return "0";
  return (value < 0 ? "−" : "+") + rounded;
}

export function score(value: number | null | undefined): string {
  return value === null || value === undefined ? "–" : value.toFixed(2);
}

/** How far the first is ahead of the second; of others, how far they are behind the first. */
export function gapOf(scores: number[], index: number): string | null {
  const [first, second] = scores;
  const own = scores[index];
  if (first === undefined || own === undefined) return null;
  if (index > 0) return `${(first - own).toFixed(2)} behind the first`;
  return second === undefined ? "the only candidate" : `${(first - second).toFixed(2)} ahead of the second`;
}

function within(value: number): number {
  return Math.min(1, Math.max(0, value));
}
