// The one way to the service. Types come from its OpenAPI description, so a field that is gone fails the build.
import createClient from "openapi-fetch";
import { noteAnswer } from "./away";
import type { components, paths } from "./schema";

export type Schemas = components["schemas"];

export const api = createClient<paths>({ baseUrl: "", credentials: "same-origin" });

type ProblemBody = {
  title?: string;
  status?: number;
  detail?: string;
  requestId?: string;
  fields?: { field: string; problem: string }[];
  [more: string]: unknown;
};

/** What the service answers instead of what was asked for. `message` is meant for people. */
export class Problem extends Error {
  readonly status: number;
  readonly body: ProblemBody;

  constructor(status: number, body: ProblemBody) {
    const fields = body.fields?.map((one) => `${one.field}: ${one.problem}`).join("; ");
    super([body.detail ?? body.title ?? `The service answered ${status}.`, fields].filter(Boolean).join(" "));
    this.name = "Problem";
    this.status = status;
    this.body = body;
  }

  get requestId(): string | undefined {
    return this.body.requestId;
  }
}

/** Status 0: nobody answered. */
export const AWAY = 0;

/** Somebody answered with what is not from Penstock. */
export const STRANGE = -1;

/** From a proxy in front of a service that is not there. */
const NOBODY_BEHIND = new Set([502, 504]);

type Answer<T> = { data?: T; error?: unknown; response: Response };

/** The data of an answer, or a Problem. `const job = await ask(api.GET("/api/jobs/{jobId}", {…}))` */
export async function ask<T>(asked: Promise<Answer<T>>): Promise<T> {
  let answer: Answer<T>;
  try {
    answer = await asked;
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    // What fetch throws where nobody answers, or where an answer breaks off.
    if (error instanceof TypeError) throw away();
    throw new Problem(STRANGE, { detail: "The answer is not from Penstock. A proxy or a sign-in page may stand in between: load this page again." });
  }
  if (NOBODY_BEHIND.has(answer.response.status)) throw away();
  noteAnswer(true);
  if (answer.response.ok) return answer.data as T;
  throw await refused(answer.response, answer.error);
}

function away(): Problem {
  noteAnswer(false);
  return new Problem(AWAY, { detail: "Penstock does not answer. It may be restarting." });
}

/** A form with files, which the types of a body do not know: the description of a form names its fields. */
export function sendForm<T>(address: string, form: FormData, more: { headers?: Record<string, string>; signal?: AbortSignal } = {}): Promise<T> {
  const sent = fetch(address, { method: "POST", body: form, credentials: "same-origin", ...more });
  return ask(sent.then(async (response): Promise<Answer<T>> => ({ response, data: response.ok ? ((await response.json()) as T) : undefined })));
}

async function refused(response: Response, told: unknown): Promise<Problem> {
  if (response.status === 401) signIn();
  const body = told ?? (await response.json().catch(() => ({})));
  return new Problem(response.status, typeof body === "object" && body !== null ? (body as ProblemBody) : {});
}

/** Leaves for the sign-in page, and comes back to where one was. */
export function signIn(): void {
  const here = location.pathname + location.search;
  location.assign(here === "/" ? "/login" : `/login?next=${encodeURIComponent(here)}`);
}
