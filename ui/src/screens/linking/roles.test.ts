import { expect, test } from "vitest";
import { choiceOf, featureName, given, oddities, refusal, roleName, roleOf, type Roles } from "./roles";

const ROLES: Roles = { who: { role: "name" }, born: { role: "property", property: "P569" } };

test("a column that becomes the name takes it from the other one", () => {
  expect(given(ROLES, "title", { role: "name" })).toEqual({ born: ROLES.born, title: { role: "name" } });
  expect(given(ROLES, "born", undefined)).toEqual({ who: { role: "name" } });
  expect(given(ROLES, "also", { role: "alias" })).toEqual({ ...ROLES, also: { role: "alias" } });
});

test("roles survive the select that shows them", () => {
  for (const choice of ["", "name", "alias", "type", "language", "P569"]) expect(choiceOf(roleOf(choice))).toBe(choice);
  expect(choiceOf({ role: "property", property: "P4242" })).toBe("other");
});

test("what is missing is told before anything is stored", () => {
  expect(refusal(ROLES)).toBeNull();
  expect(refusal({ born: { role: "alias" } })).toContain("which column holds the name");
  expect(refusal({ ...ROLES, shelf: { role: "property", property: " " } })).toContain("shelf");
});

test("odd first rows are told", () => {
  expect(oddities(ROLES, [{ who: "Ada" }, { who: "Bob" }])).toEqual([]);
  expect(oddities(ROLES, [{ who: "Ada" }, {}, { who: "Ada" }])).toHaveLength(2);
  expect(oddities(ROLES, [{ who: "12" }])[0]).toContain("no letters");
  expect(oddities(ROLES, [{ who: "Ada" }, {}])[0]).toContain("1 of the first 2 rows has no name");
});

test("features have the words of the roles", () => {
  expect(featureName("P569")).toBe("Date of birth (P569)");
  expect(featureName("identifier limit")).toBe("Limit: identifier");
  expect(roleName({ role: "property", property: "P9" })).toBe("P9");
  expect(roleName(undefined)).toBe("No role");
});
