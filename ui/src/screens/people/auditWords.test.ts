import { expect, test } from "vitest";
import { ACTIONS, inWords, sentenceOf, type AuditEntry } from "./auditWords";

const entry = (given: Partial<AuditEntry>): AuditEntry => ({
  entryId: 1,
  at: "2026-11-16T13:00:00Z",
  actor: "ann",
  ip: null,
  action: "login",
  kind: null,
  object: null,
  owner: null,
  requestId: null,
  details: {},
  ...given,
});

test("a pause is told with its reason", () => {
  const paused = entry({ action: "stage.pause", kind: "stage", object: "fetch/fetch", details: { reason: "provider down" } });
  expect(inWords(paused)).toBe("ann paused the stage fetch: provider down");
  expect(inWords({ ...paused, object: "shop/fetch" })).toBe("ann paused the stage fetch of shop: provider down");
});

test("a change of a role says from what to what", () => {
  const changed = entry({ actor: "root", action: "user.role", kind: "user", object: "ann", details: { before: "viewer", role: "operator" } });
  expect(inWords(changed)).toBe("root changed the role of user ann: viewer → operator");
});

test("settings are told as people see them", () => {
  const days = entry({ action: "setting.change", kind: "setting", object: "auditDays", details: { before: null, value: 30 } });
  expect(inWords(days)).toBe("ann changed setting auditDays: forever → 30 days");
  const flag = entry({ action: "setting.change", kind: "setting", object: "pendingPage", details: { before: true, value: false } });
  expect(inWords(flag)).toBe("ann changed setting pendingPage: on → off");
});

test("people who are no users have words", () => {
  expect(inWords(entry({ actor: "-", action: "login.refused" }))).toBe("Somebody was not let in");
  expect(inWords(entry({ actor: "cli:jo", action: "job.delete", kind: "job", object: "7" }))).toBe("jo (command line) deleted job 7");
});

test("a login says how, and not whose name twice", () => {
  expect(inWords(entry({ kind: "user", object: "ann", details: { way: "password" } }))).toBe("ann signed in with a password");
});

test("items are called items, and what is not known yet is still a sentence", () => {
  expect(sentenceOf(entry({ action: "dead-letter.replay", kind: "task", object: "9" })).what).toBe("item 9");
  expect(inWords(entry({ action: "project.thaw_out", kind: "project", object: "3" }))).toBe("ann did “thaw out” to project 3");
  expect(inWords(entry({ action: "odd" }))).toBe("ann did “odd”");
});

test("every action is told once", () => {
  expect(new Set(ACTIONS).size).toBe(ACTIONS.length);
});
