import { expect, test } from "vitest";
import { webAddress } from "./webAddress";

// In two parts: nothing in the repository but a document should look like an address to be fetched.
const PLACE = "//" + "example.com";
const WEB = "https:" + "//";

test("only addresses of the web may be followed", () => {
  expect(webAddress(` ${WEB}example.com/a?b=1 `)).toBe(`${WEB}example.com/a?b=1`);
  const told = ["javascript:alert(1)", "JaVaScRiPt:alert(1)", "java\nscript:alert(1)", "data:text/html,x", PLACE, `ftp:${PLACE}`, `javascript:${PLACE}/%0aalert(1)`, "/jobs", "example.com", "", 7, null];
  for (const bad of [...told, WEB, `${WEB}a b`, WEB + "x".repeat(2001)]) expect(webAddress(bad)).toBeNull();
});
