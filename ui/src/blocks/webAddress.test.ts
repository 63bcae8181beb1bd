import { expect, test } from "vitest";
import { webAddress } from "./webAddress";

test("only addresses of the web may be followed", () => {
  expect(webAddress(" https://example.com/a?b=1 ")).toBe("https://example.com/a?b=1");
  for (const bad of ["javascript:alert(1)", "JaVaScRiPt:alert(1)", "java\nscript:alert(1)", "data:text/html,x", "//example.com", "/jobs", "example.com", "", "http://", "https://a b", `https://${"x".repeat(2001)}`, 7, null])
    expect(webAddress(bad)).toBeNull();
});
