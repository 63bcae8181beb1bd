import { expect, test } from "vitest";
import { isNews, parsed } from "./events";

test("a job event is read with its owner", () => {
  expect(parsed("job", '{"jobId":48,"owner":"ann"}')).toEqual({ kind: "job", jobId: 48, owner: "ann" });
});

test("what a newer service tells is passed over", () => {
  expect(parsed("weather", "{}")).toBeNull();
  expect(parsed("job", "{")).toBeNull();
  expect(parsed("job", "{}")).toBeNull();
});

test("an event that came before is no news, one of another process always is", () => {
  expect(isNews("a-6", "a-5")).toBe(true);
  expect(isNews("a-5", "a-5")).toBe(false);
  expect(isNews("a-10", "a-9")).toBe(true);
  expect(isNews("b-1", "a-9")).toBe(true);
});
