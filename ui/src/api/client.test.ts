import { afterEach, expect, test, vi } from "vitest";
import { ask, AWAY, Problem, sendForm, STRANGE } from "./client";

afterEach(() => vi.unstubAllGlobals());

async function problemOf(asked: Promise<unknown>): Promise<unknown> {
  return asked.then(
    () => null,
    (error: unknown) => (error instanceof Problem ? [error.status, error.message] : error),
  );
}

const answering = (answer: () => Promise<Response>) => {
  vi.stubGlobal("fetch", answer);
  return problemOf(sendForm("/api/jobs", new FormData()));
};

test("only where nobody answers the service is away", async () => {
  const away = [AWAY, expect.stringContaining("does not answer")];
  expect(await answering(() => Promise.reject(new TypeError("Failed to fetch")))).toEqual(away);
  expect(await answering(() => Promise.resolve(new Response("", { status: 502 })))).toEqual(away);
  expect(await answering(() => Promise.resolve(new Response("{}", { status: 503 })))).toEqual([503, "The service answered 503."]);
});

test("a page in the place of data is a problem that tells so, and no service that is away", async () => {
  expect(await answering(() => Promise.resolve(new Response("<html>Sign in</html>")))).toEqual([STRANGE, expect.stringContaining("not from Penstock")]);
});

test("who stops a request hears that it was stopped", async () => {
  const stopped = new DOMException("stopped", "AbortError");
  expect(await problemOf(ask(Promise.reject(stopped)))).toBe(stopped);
});
