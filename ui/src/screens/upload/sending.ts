// The upload that is under way. It outlives the screen: somebody may look at something else meanwhile.
import { useSyncExternalStore } from "react";
import { AWAY, Problem, signIn, type Schemas } from "~/api/client";
import { queries, tellDone } from "~/api/queries";
import { kept, paceOf, type Pace, type Sample } from "./pace";

export type Submitted = Schemas["SubmittedBody"];
export type Sending = {
  name: string;
  sent: number;
  total: number;
  pace: Pace;
  state: "sending" | "checking" | "done" | "failed";
  problem: Problem | null;
  submitted: Submitted | null;
};

type Order = { name: string; form: FormData; key: string };

let current: Sending | null = null;
let order: Order | null = null;
let request: XMLHttpRequest | null = null;
let samples: Sample[] = [];
const watchers = new Set<() => void>();

function change(part: Partial<Sending> | null): void {
  current = part === null || current === null ? null : { ...current, ...part };
  for (const watcher of watchers) watcher();
}

export function useSending(): Sending | null {
  return useSyncExternalStore(
    (changed) => {
      watchers.add(changed);
      return () => watchers.delete(changed);
    },
    () => current,
  );
}

/** Random where `crypto.randomUUID` may be missing: it is only there over HTTPS. */
function newKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

export function send(name: string, form: FormData): void {
  order = { name, form, key: newKey() };
  start();
}

/** After a lost connection. With the same key: if the file had arrived all the same, it is the same job. */
export function sendAgain(): void {
  if (order !== null) start();
}

export function cancel(): void {
  const under = request;
  request = null;
  under?.abort();
  change(null);
}

export function dismiss(): void {
  order = null;
  change(null);
}

/** A tab that is closed meanwhile takes the upload with it. */
function stay(event: BeforeUnloadEvent): void {
  if (current?.state === "sending") event.preventDefault();
}

function start(): void {
  if (order === null) return;
  const { name, form, key } = order;
  request?.abort();
  window.addEventListener("beforeunload", stay);
  samples = [{ at: performance.now(), sent: 0 }];
  current = { name, sent: 0, total: 0, pace: { perSecond: null, secondsLeft: null }, state: "sending", problem: null, submitted: null };
  const asked = new XMLHttpRequest();
  request = asked;
  asked.upload.onprogress = (event) => {
    if (request !== asked) return;
    samples = kept(samples, { at: performance.now(), sent: event.loaded });
    change({ sent: event.loaded, total: event.total, pace: paceOf(samples, event.total) });
  };
  asked.upload.onload = () => request === asked && change({ state: "checking" });
  asked.onload = () => request === asked && answered(asked);
  asked.onerror = () => request === asked && failed(new Problem(AWAY, { title: "The connection was lost", detail: LOST }));
  asked.open("POST", "/api/jobs");
  asked.setRequestHeader("Idempotency-Key", key);
  asked.send(form);
  change({});
}

const LOST = "Nothing is lost here: send it again. If it had arrived all the same, it does not become a second job.";

function answered(asked: XMLHttpRequest): void {
  const body = parsed(asked.responseText);
  if (asked.status === 401) signIn();
  if (asked.status < 200 || asked.status >= 300) return failed(new Problem(asked.status, body as ConstructorParameters<typeof Problem>[1]));
  const submitted = body as Submitted;
  const { name } = order ?? { name: "The file" };
  order = null;
  request = null;
  change({ state: "done", submitted });
  void queries.invalidateQueries({ queryKey: ["jobs"] });
  const again = submitted.created ? "" : " It had arrived already.";
  const before = submitted.duplicateOf === null ? "" : ` The same file was sent before, as job ${submitted.duplicateOf}.`;
  tellDone(`${name} is job ${submitted.jobId}.${again}${before}`);
}

/** Whatever stands between here and the service may answer with a page of its own. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return {};
  }
}

function failed(problem: Problem): void {
  request = null;
  change({ state: "failed", problem });
}
