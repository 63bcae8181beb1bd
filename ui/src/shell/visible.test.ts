import { expect, test } from "vitest";
import { PARTS } from "./screens";
import { refusal, screenAt } from "./visible";

const on = { flags: { pendingPage: true } };

test("a screen that is switched off is refused to everybody, one for operators to viewers", () => {
  const pending = screenAt("/pending");
  const audit = screenAt("/audit");
  if (pending === null || audit === null) throw new Error("the screens are gone");
  expect(refusal(pending, { role: "admin", flags: { pendingPage: false } })).toBe("off");
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
