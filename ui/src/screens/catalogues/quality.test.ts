import { describe, expect, it } from "vitest";
import { webAddress } from "~/blocks/webAddress";
import { finders, foundShare, shown } from "./quality";

const counts = { pending: 0, processing: 0, done: 3, error: 0, notFound: 1, skipped: 5, cancelled: 0 };
const answers = { asked: 0, misses: 0, unanswered: 0, milliseconds: 1, cost: 0, lastAt: "2026-01-01T00:00:00Z", lastError: null };

describe("the quality of a list", () => {
  it("is the share of what was found among what was looked up", () => {
    expect(foundShare(counts)).toBe(0.75);
    expect(foundShare({ ...counts, done: 0, notFound: 0 })).toBeNull();
  });

  it("names those who found something, the most first", () => {
    const found = finders([
      { ...answers, provider: "local", hits: 1 },
      { ...answers, provider: "http", hits: 3 },
      { ...answers, provider: "none", hits: 0 },
    ]);
    expect(found).toEqual([
      { provider: "http", share: 0.75 },
      { provider: "local", share: 0.25 },
    ]);
  });

  it("follows only addresses of the web", () => {
    expect(webAddress("https://shop.example/a")).toBe("https://shop.example/a");
    expect(webAddress("javascript:alert(1)")).toBeNull();
    expect(webAddress("data:text/html,x")).toBeNull();
    expect(webAddress(7)).toBeNull();
  });

  it("shows any value as text", () => {
    expect(shown(null)).toBe("–");
    expect(shown(12.5)).toBe("12.5");
    expect(shown("<b>")).toBe("<b>");
  });
});
