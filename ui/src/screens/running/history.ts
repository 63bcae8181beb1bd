// The kept history of the whole system or of one stage, and its shapes for charts and tiles.
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { api, ask, type Schemas } from "~/api/client";

export type HistoryView = Schemas["HistoryView"];
export type Point = Schemas["HistoryPoint"];

export const RANGES = [
  { minutes: 60, name: "1 h" },
  { minutes: 360, name: "6 h" },
  { minutes: 1440, name: "24 h" },
] as const;
export const DEFAULT_MINUTES = 60;
/** Rates and what failed lately fade with the time that passes, of which no event tells. */
export const RATES_MS = 5000;

/** Of what stands in an address: one of the ranges; left out for the usual one. */
export function rangeOf(minutes: number | undefined): number | undefined {
  return RANGES.some((one) => one.minutes === minutes) && minutes !== DEFAULT_MINUTES ? minutes : undefined;
}

/** Points are kept by the minute and nothing tells that a minute has passed, so this one is asked for by the clock. */
export function useHistory(minutes: number, of: { pipeline?: string; stage?: string } = {}) {
  return useQuery({
    queryKey: ["history", minutes, of.pipeline, of.stage],
    queryFn: ({ signal }) => ask(api.GET("/api/history", { params: { query: { minutes, ...of } }, signal })),
    refetchInterval: minutes > 60 ? 60_000 : 15_000,
    placeholderData: keepPreviousData,
  });
}

/** So many bars, each the sum of its points, or their highest. What nobody measured counts as nothing. */
export function bars(points: Point[], read: (point: Point) => number | null, how: "sum" | "highest", wanted = 30): number[] {
  const each = Math.max(1, Math.ceil(points.length / wanted));
  const made: number[] = [];
  for (let first = 0; first < points.length; first += each) {
    const values = points.slice(first, first + each).map((point) => read(point) ?? 0);
    made.push(how === "sum" ? values.reduce((sum, one) => sum + one, 0) : Math.max(...values));
  }
  return made;
}
