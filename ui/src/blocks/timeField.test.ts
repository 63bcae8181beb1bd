import { expect, test } from "vitest";
import { fromField, toField } from "./timeField";

test("a time goes from the field into the address and back", () => {
  const said = fromField("2026-11-16T13:05");
  expect(said).toMatch(/^2026-11-1\dT\d\d:\d5:00\.000Z$/);
  expect(toField(said)).toBe("2026-11-16T13:05");
});

test("what is no time is left out", () => {
  expect([fromField(""), fromField("soon"), fromField(undefined), toField("soon"), toField(undefined)]).toEqual([undefined, undefined, undefined, "", ""]);
});
