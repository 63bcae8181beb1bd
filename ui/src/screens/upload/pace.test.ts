import { describe, expect, it } from "vitest";
import { kept, paceOf, type Sample } from "./pace";

describe("the pace of an upload", () => {
  it("is not told before there is something to go by", () => {
    expect(paceOf([], 100)).toEqual({ perSecond: null, secondsLeft: null });
    expect(paceOf([{ at: 0, sent: 0 }, { at: 100, sent: 50 }], 100)).toEqual({ perSecond: null, secondsLeft: null });
  });

  it("says how long the rest takes", () => {
    expect(paceOf([{ at: 0, sent: 0 }, { at: 2000, sent: 400 }], 1000)).toEqual({ perSecond: 200, secondsLeft: 3 });
  });

  it("forgets what was long ago", () => {
    let samples: Sample[] = [];
    for (const [at, sent] of [[0, 0], [1000, 1000], [7000, 1100], [9000, 1300]] as const) samples = kept(samples, { at, sent });
    expect(samples[0]?.at).toBe(7000);
    expect(paceOf(samples, 2300)).toEqual({ perSecond: 100, secondsLeft: 10 });
  });

  it("does not promise an end while nothing moves", () => {
    expect(paceOf([{ at: 0, sent: 5 }, { at: 4000, sent: 5 }], 10)).toEqual({ perSecond: 0, secondsLeft: null });
  });
});
