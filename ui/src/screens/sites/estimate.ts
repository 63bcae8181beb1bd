// What an analysis may cost at most, before it is sent.
import type { Schemas } from "~/api/client";

export type Options = { models: string[]; pages: number; samples: number; prompts: number; budget: number };

export type Estimate = {
  /** Questions per site, over all models. */
  calls: number;
  /** The most that one site may cost. */
  perSite: number;
  /** Of all sites; null where their number is not known yet. */
  total: number | null;
  /** The budget is less than that: some questions may stay open. */
  stopped: boolean;
};

export function estimate(options: Options, models: Schemas["ModelView"][], sites: number | null): Estimate {
  const chosen = models.filter((model) => options.models.includes(model.name));
  const each = options.prompts * options.samples;
  const perSite = chosen.reduce((sum, model) => sum + model.mostPerCall * each, 0);
  const total = sites === null ? null : perSite * sites;
  return { calls: each * chosen.length, perSite, total, stopped: (total ?? perSite) > options.budget };
}

/** Costs have no currency of their own: that of the prices. "0", "0.0042", "12.50". */
export function cost(value: number | null | undefined): string {
  if (value === null || value === undefined) return "–";
  if (value === 0) return "0";
  if (value >= 1) return value.toFixed(2);
  return String(Number(value.toPrecision(3)));
}
