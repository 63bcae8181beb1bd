import { expect, test } from "vitest";
import { PARTS } from "./screens";
import { refusal, screenAt, visibleParts } from "./visible";

const screens = [{ path: "/sites", name: "Sites" }];
const on = { flags: { pendingPage: true }, screens };

test("a screen that is switched off is refused to everybody, one for operators to viewers", () => {
  const pending = screenAt("/pending");
  const audit = screenAt("/audit");
  if (pending === null || audit === null) throw new Error("the screens are gone");
  expect(refusal(pending, { role: "admin", flags: { pendingPage: false }, screens })).toBe("off");
  expect(refusal(pending, { role: "viewer", ...on })).toBeNull();
  expect(refusal(audit, { role: "viewer", ...on })).toBe("role");
  expect(refusal(audit, { role: "operator", ...on })).toBeNull();
});

test("an address belongs to the screen that it begins with", () => {
  expect(screenAt("/jobs/48")?.to).toBe("/jobs");
  expect(screenAt("/")?.to).toBe("/");
  expect(screenAt("/jobsworth")).toBeNull();
});

test("no key leads to two screens", () => {
  const keys = PARTS.flatMap((part) => part.screens.map((one) => one.key)).filter((key) => key !== undefined);
  expect(new Set(keys).size).toBe(keys.length);
});

test("screens of extensions are there where they are installed, and those that serve pages themselves are named as they say", () => {
  const shown = (installed: typeof screens) =>
    visibleParts({ role: "viewer", ...on, screens: installed }).flatMap((part) => part.screens.filter((one) => one.brought).map((one) => one.name));
  expect(shown(screens)).toEqual(["Sites"]);
  expect(shown([...screens, { path: "/letters", name: "Letters" }])).toEqual(["Sites", "Letters"]);
  expect(shown([])).toEqual([]);
  expect(visibleParts({ role: "viewer", ...on, screens: [] }).map((part) => part.name)).toEqual(["Work", "Running it"]);
});
