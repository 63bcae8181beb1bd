// How a project is matched, as a form holds it: text as people type it, numbers as they are.
import type { Schemas } from "~/api/client";

export type Options = {
  languages: string;
  types: string;
  candidates: number;
  acceptScore: number;
  acceptGap: number;
  weights: Record<string, number>;
  properties: Record<string, number>;
};

export const WEIGHTS: [string, string][] = [
  ["name", "Name"],
  ["type", "Type"],
  ["identifier", "Identifiers"],
  ["date", "Dates"],
  ["place", "Coordinates"],
  ["item", "Other entities"],
  ["url", "Web addresses"],
  ["number", "Numbers"],
  ["text", "Texts"],
  ["silence", "What the source does not know"],
];

/** The service tells options whole; what is not what it should be counts as left out. */
export function optionsOf(told: Record<string, unknown>): Options {
  const weights = object(told.weights);
  return {
    languages: texts(told.languages).join(", "),
    types: texts(told.types).join(", "),
    candidates: numeric(told.candidates, 7),
    acceptScore: numeric(told.acceptScore, 0.9),
    acceptGap: numeric(told.acceptGap, 0.1),
    weights: Object.fromEntries(WEIGHTS.map(([name]) => [name, numeric(weights[name], 0)])),
    properties: Object.fromEntries(Object.entries(object(weights.properties)).map(([name, value]) => [name, numeric(value, 0)])),
  };
}

/** Only what differs from `before`: the rest stays with the settings. */
export function changes(options: Options, before: Options): Schemas["OptionsBody"] {
  const body: Schemas["OptionsBody"] = {};
  if (options.languages !== before.languages) body.languages = split(options.languages);
  if (options.types !== before.types) body.types = split(options.types);
  if (options.candidates !== before.candidates) body.candidates = options.candidates;
  if (options.acceptScore !== before.acceptScore) body.acceptScore = options.acceptScore;
  if (options.acceptGap !== before.acceptGap) body.acceptGap = options.acceptGap;
  const weights = JSON.stringify([options.weights, options.properties]) !== JSON.stringify([before.weights, before.properties]);
  if (weights) body.weights = { ...options.weights, properties: options.properties };
  return body;
}

export function isEmpty(body: object): boolean {
  return Object.keys(body).length === 0;
}

function split(text: string): string[] {
  return text
    .split(/[,;\s]+/)
    .map((one) => one.trim())
    .filter(Boolean);
}

function texts(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((one) => typeof one === "string") : [];
}

function numeric(value: unknown, otherwise: number): number {
  return typeof value === "number" ? value : otherwise;
}

function object(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}
