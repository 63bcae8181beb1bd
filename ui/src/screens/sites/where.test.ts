import { expect, test } from "vitest";
import { pagesWith } from "./where";

const page = (url: string, text: string, more: object = {}) => ({ url, text, title: null, description: null, links: [] as string[], ...more });

test("a value is found on the pages that hold it, whatever its spaces and case", () => {
  const pages = [page("/", "Call +00 555 0142"), page("/about", "Nothing"), page("/contact", "", { title: "Northmere" }), page("/x", "", { links: ["https://social.example/us"] })];
  expect(pagesWith("+005550142", pages).map((one) => one.url)).toEqual(["/"]);
  expect(pagesWith("northmere", pages).map((one) => one.url)).toEqual(["/contact"]);
  expect(pagesWith("https://social.example/us", pages).map((one) => one.url)).toEqual(["/x"]);
  expect(pagesWith(" ", pages)).toEqual([]);
});
