import { expect, test } from "vitest";
import { changes, isEmpty, optionsOf } from "./options";

const TOLD = {
  languages: ["en", "de"],
  types: ["Q5"],
  candidates: 7,
  acceptScore: 0.9,
  acceptGap: 0.1,
  weights: { name: 5, date: 3, properties: { P569: 4 } },
};

test("options are read as the service tells them", () => {
  const read = optionsOf(TOLD);
  expect([read.languages, read.types, read.weights.name, read.properties.P569]).toEqual(["en, de", "Q5", 5, 4]);
  expect(optionsOf({ languages: "en", weights: null }).languages).toBe("");
});

test("only what somebody changed is sent", () => {
  const before = optionsOf(TOLD);
  expect(isEmpty(changes({ ...before }, before))).toBe(true);
  expect(changes({ ...before, languages: "fr; de ,", acceptScore: 0.8 }, before)).toEqual({ languages: ["fr", "de"], acceptScore: 0.8 });
  const heavier = { ...before, weights: { ...before.weights, name: 9 } };
  expect(changes(heavier, before).weights).toMatchObject({ name: 9, date: 3, properties: { P569: 4 } });
});
