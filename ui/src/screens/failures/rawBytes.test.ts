import { expect, test } from "vitest";
import { fromBase64, hex, readable, toBase64 } from "./rawBytes";

test("bytes come back as they were", () => {
  const bytes = Uint8Array.from({ length: 256 }, (_, at) => at);
  expect(fromBase64(toBase64(bytes))).toEqual(bytes);
});

test("only what is text is offered as text", () => {
  expect(readable(new TextEncoder().encode('{"id": "Ä"}'))).toBe('{"id": "Ä"}');
  expect(readable(Uint8Array.of(0xff, 0xfe))).toBeNull();
  expect(readable(Uint8Array.of(0x61, 0))).toBeNull();
});

test("a field of a page must not change what nobody changed", () => {
  expect(readable(new TextEncoder().encode("a\r\nb"))).toBeNull();
});

test("bytes are shown beside their signs", () => {
  expect(hex(new TextEncoder().encode('{"id": 1}'))).toContain('{"id": 1}');
  expect(hex(new Uint8Array(16 * 256 + 3))).toMatch(/… 3 more$/);
});
