import { expect, test } from "vitest";
import { webAddress } from "~/blocks/webAddress";
import { countAddresses, pathOf, shortAddress } from "./addresses";

test("only addresses of the web become links", () => {
  expect(webAddress("https://one.example/a?b=1")).toBe("https://one.example/a?b=1");
  for (const bad of ["javascript:alert(1)", "JaVaScRiPt:alert(1)", "data:text/html,x", "//one.example", " javascript:alert(1)", "https://", "", null]) expect(webAddress(bad)).toBeNull();
});

test("addresses are shown without what all of them have", () => {
  expect(shortAddress("https://one.example/")).toBe("one.example");
  expect(pathOf("http://one.example/a/b?c=1")).toBe("/a/b?c=1");
  expect(pathOf("no address")).toBe("no address");
});

test("pasted addresses are counted once each, words and mail addresses are not", () => {
  expect(countAddresses("one.example\nhttps://ONE.example/ , two.example; and me@three.example")).toBe(2);
  expect(countAddresses("  ")).toBe(0);
});
