import { expect, test } from "vitest";
import { fileName } from "./files";

test("a file has the name that the service gives it", () => {
  expect(fileName(`attachment; filename="a.csv"; filename*=UTF-8''%C3%A4.csv`)).toBe("ä.csv");
  expect(fileName(`attachment; filename="a b.csv"`)).toBe("a b.csv");
  expect(fileName(`attachment; filename*=UTF-8''%ZZ; filename="b.csv"`)).toBe("b.csv");
  expect(fileName(`attachment; filename="50% off.csv"`)).toBe("50% off.csv");
  expect(fileName(null)).toBe("penstock-export");
});
