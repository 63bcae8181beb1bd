import { expect, test } from "vitest";
import { matching, type Entry } from "./entries";

const ENTRIES: Entry[] = [
  { name: "Jobs", hint: "Work", to: "/jobs" },
  { name: "Stages", hint: "Running it", words: "queues pause", to: "/stages" },
  { name: "Pause stage fetch", hint: "Stage", onlyTyped: true, act: () => undefined },
  { name: "Old jobs.csv", hint: "Job 7", onlyTyped: true, to: "/jobs/7" },
];
const names = (typed: string) => matching(ENTRIES, typed, true).map((one) => one.name);

test("without a word only screens are offered", () => {
  expect(names("")).toEqual(["Jobs", "Stages"]);
});

test("a name that begins with what was typed comes first, and every word has to fit", () => {
  expect(names("jobs")).toEqual(["Jobs", "Old jobs.csv", "Search articles for “jobs”"]);
  expect(names("pause fetch")).toEqual(["Pause stage fetch", "Search articles for “pause fetch”"]);
});

test("a number is a job or an item", () => {
  expect(matching(ENTRIES, "#48", true).slice(0, 2).map((one) => one.to)).toEqual(["/jobs/48", "/items/48"]);
});

test("anything can be searched for, and is written into the address as text", () => {
  expect(matching(ENTRIES, "a&b=c", true).at(-1)?.to).toBe("/search?q=a%26b%3Dc");
});

test("where there are no articles, nobody is led to a search for them", () => {
  expect(matching(ENTRIES, "jobs", false).map((one) => one.name)).toEqual(["Jobs", "Old jobs.csv"]);
});
