import { expect, test } from "vitest";
import { webAddress } from "~/blocks/webAddress";
import { pageOf } from "./entity";

test("only addresses of the web are links", () => {
  expect(webAddress("https://example.org/a?b=1")).toBe("https://example.org/a?b=1");
  expect(webAddress(" HTTP://example.org ")).toBe("http://example.org/");
  for (const text of ["javascript:alert(1)", "data:text/html,x", "//example.org", "https:", "https://", "see https://example.org", "java\nscript:alert(1)"])
    expect(webAddress(text)).toBeNull();
});

test("an id has a page where it is an address, or where the source has pages for ids like it", () => {
  expect(pageOf("https://d-nb.info/gnd/1", null)).toBe("https://d-nb.info/gnd/1");
  expect(pageOf("Q42", "https://www.wikidata.org/wiki/")).toBe("https://www.wikidata.org/wiki/Q42");
  expect(pageOf("Q42", null)).toBeNull();
  expect(pageOf("../evil", "https://www.wikidata.org/wiki/")).toBeNull();
  expect(pageOf("javascript:alert(1)", "https://www.wikidata.org/wiki/")).toBeNull();
});
