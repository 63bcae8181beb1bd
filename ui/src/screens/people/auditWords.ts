// The audit log in sentences: "ann paused stage fetch: provider down". Pure, so that it can be tested.
import type { Schemas } from "~/api/client";
import { many, sentence } from "~/blocks/wording";

export type AuditEntry = Schemas["AuditEntry"];

/** What stands before the object; `{name}` is a detail. */
const DEEDS: Record<string, string> = {
  login: "signed in",
  logout: "signed out",
  "login.refused": "was not let in",
  "login.link": "made a login link for",
  "user.create": "added",
  "user.role": "changed the role of",
  "user.disable": "disabled",
  "user.enable": "enabled",
  "user.password": "set the password of",
  "user.password_removed": "removed the password of",
  "session.end": "ended",
  "session.end_others": "ended all other sessions of",
  "token.create": "made",
  "token.revoke": "revoked",
  "setting.change": "changed",
  "job.submit": "submitted",
  "job.pause": "paused",
  "job.resume": "resumed",
  "job.cancel": "cancelled",
  "job.delete": "deleted",
  "job.reprocess": "ran items again of",
  "job.kickoff": "worked right away on",
  "job.hasten": "worked right away on",
  "job.export": "exported",
  "job.look": "looked at",
  "jobs.look_at_all": "looked at everybody's jobs",
  "items.look_at_all": "looked at everybody's items",
  "task.look": "looked at",
  "task.cancel": "cancelled",
  "task.cancelled": "cancelled items",
  "task.reprocessed": "ran items again",
  "task.enqueued": "ran a dead letter again",
  "selection.reprocess": "ran chosen items again",
  "selection.cancel": "cancelled chosen items",
  "errors.look": "looked at everybody's errors",
  "dead-letters.look": "looked at everybody's dead letters",
  "dead-letters.replay": "ran dead letters again",
  "dead-letter.replay": "ran again",
  "dead-letter.edit": "edited and ran again",
  "dead-message.replay": "sent again",
  "dead-message.discard": "threw away",
  "dead-messages.replay": "sent messages again",
  "message.replayed": "sent messages again",
  "message.discarded": "threw messages away",
  "stage.pause": "paused",
  "stage.resume": "resumed",
  "stage.limit": "limited",
  "lane.pause": "paused",
  "lane.resume": "resumed",
  "limit.set": "set",
  "limit.remove": "removed",
  "limit.block": "blocked",
  "schedule.pause": "paused",
  "schedule.resume": "resumed",
  "schedule.fire": "ran now",
  "source.add": "added",
  "source.remove": "removed",
  "source.scan": "scanned",
  "source.test": "tried",
  "source.list": "looked at everybody's places",
  "source.show": "looked at",
  "article.create": "wrote",
  "article.update": "changed",
  "article.delete": "deleted",
  "article.saved": "saved",
  "article.deleted": "deleted",
  "article.look": "looked at",
  "articles.import": "imported articles",
  "articles.reindex": "started indexing articles again",
  "articles.retry_failed": "ran failed embeddings again",
  "articles.clear": "cleared completed embeddings",
  "articles.look_at_all": "looked at everybody's articles",
  "articles.look_at_queries": "looked at everybody's saved searches",
  "articles.look_at_tasks": "looked at everybody's embeddings",
  "articles.search_all": "searched everybody's articles",
  "query.remove": "removed",
  "catalogues.look_at_all": "looked at everybody's catalogues",
  "generation.compare": "compared",
  "generation.build": "started to build",
  "generation.switch": "switched to",
  "generation.roll_back": "rolled back to",
  "generation.drop": "dropped",
  "analysis.approve": "approved sites of",
  "analysis.rerun": "ran sites again of",
  "site.prompts": "changed the prompts of",
  "site.prompts.reset": "took back the changed prompts of",
  "project.create": "made",
  "project.change": "changed",
  "project.delete": "deleted",
  "project.match": "started to match",
  "project.cancel": "cancelled the matching of",
  "project.rerank": "scored again",
  "project.export": "exported",
  "project.accept": "accepted a match of",
  "project.accept_above": "accepted the best matches of",
  "project.reject": "rejected a match of",
  "project.reopen": "took back a decision of",
  "project.undo": "took back decisions of",
  "project.note": "wrote a note in",
  "project.look": "looked at",
  "project.look_at_all": "looked at everybody's projects",
  "analyses.look_at_all": "looked at everybody's analyses",
  "stream.all": "listened to everybody's changes",
};

/** Deeds whose sentence is whole without the object: it is the person, or it is many. */
const WITHOUT_OBJECT = new Set(["login", "logout"]);

const KINDS: Record<string, string> = { task: "item", "dead-letter": "item", dead_message: "message" };

export type Sentence = { who: string; did: string; what: string | null; more: string | null };

/** In parts, because the object is a link. */
export function sentenceOf(entry: AuditEntry): Sentence {
  const { action, kind, object } = entry;
  const did = (DEEDS[action] ?? derived(action, object)) + wayOf(entry);
  const named = object !== null && !WITHOUT_OBJECT.has(action) ? objectWords(kind, object) : null;
  return { who: actorWord(entry.actor), did, what: named, more: moreOf(entry) };
}

/** As one text, for reading out and for tests. */
export function inWords(entry: AuditEntry): string {
  const { who, did, what, more } = sentenceOf(entry);
  return `${who} ${did}${what ? ` ${what}` : ""}${more ? `: ${more}` : ""}`;
}

/** "job 48", "the stage fetch of shop". */
export function objectWords(kind: string | null, object: string): string {
  if (kind === null) return object;
  const [pipeline, stage] = object.split("/");
  if (kind !== "stage" || !stage) return `${kindWord(kind)} ${object}`;
  return stage === pipeline ? `the stage ${stage}` : `the stage ${stage} of ${pipeline}`;
}

export function kindWord(kind: string): string {
  return KINDS[kind] ?? kind.replaceAll(/[_-]+/g, " ");
}

/** `-` is somebody who was not let in, `cli:ann` ann at the command line. */
export function actorWord(actor: string): string {
  if (actor === "-") return "Somebody";
  if (actor.startsWith("cli:")) return `${actor.slice(4) || "somebody"} (command line)`;
  return actor;
}

/** An action that this page does not know yet: "project.thaw" is "did “thaw” to". */
function derived(action: string, object: string | null): string {
  const [, move] = action.split(/\.(.*)/s);
  return `did “${sentence(move ?? action).toLowerCase()}”${object === null ? "" : " to"}`;
}

function wayOf({ action, details }: AuditEntry): string {
  if (action !== "login") return "";
  return details.way === "password" ? " with a password" : details.way === "link" ? " with a login link" : "";
}

function moreOf({ action, details }: AuditEntry): string | null {
  const text = (name: string): string | null => {
    const value = details[name];
    return typeof value === "string" && value !== "" ? value : null;
  };
  const number = (name: string): number | null => {
    const value = details[name];
    return typeof value === "number" ? value : null;
  };
  if (action === "user.role") return `${text("before") ?? "?"} → ${text("role") ?? "?"}`;
  if (action === "user.create") return text("role");
  if (action === "setting.change") return `${setting(details.before)} → ${setting(details.value)}`;
  if (action === "login.refused" && text("way") === "password") return "a wrong password";
  if (action === "stage.limit") return details.max_running === null ? "no limit" : `at most ${String(details.max_running)} at once`;
  const started = number("started") ?? number("replayed") ?? number("count");
  return text("reason") ?? text("name") ?? (started === null ? null : many(started, "item"));
}

function setting(value: unknown): string {
  if (value === null || value === undefined) return "forever";
  if (typeof value === "boolean") return value ? "on" : "off";
  return typeof value === "number" ? many(value, "day") : String(value);
}

/** Every action that this page knows, for the filter. */
export const ACTIONS = Object.keys(DEEDS).sort();
export const AUDIT_KINDS = [
  "job",
  "task",
  "stage",
  "limit",
  "schedule",
  "source",
  "article",
  "generation",
  "project",
  "user",
  "token",
  "session",
  "setting",
];
