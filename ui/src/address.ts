// What stands in an address was typed by anybody: it is read, not trusted. Unreadable parts count as left out.

export type Search = Record<string, unknown>;

/** Without what is left out, so that it does not stand in the address either. */
export function known<T extends Search>(parts: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(parts).filter(([, value]) => value !== undefined)) as { [K in keyof T]?: Exclude<T[K], undefined> };
}

export function text(value: unknown): string | undefined {
  if (typeof value === "number") return String(value);
  return typeof value === "string" && value !== "" ? value.slice(0, 1000) : undefined;
}

export function number(value: unknown): number | undefined {
  const read = typeof value === "string" && value.trim() !== "" ? Number(value) : value;
  return typeof read === "number" && Number.isSafeInteger(read) ? read : undefined;
}

export function flag(value: unknown): true | undefined {
  return value === true || value === "true" || value === 1 ? true : undefined;
}

export function oneOf<T extends string>(value: unknown, known: readonly T[]): T | undefined {
  return known.find((one) => one === value);
}

/** Several of a few: those that are known, in their own order; left out when none is. */
export function someOf<T extends string>(value: unknown, known: readonly T[]): T[] | undefined {
  const given = Array.isArray(value) ? value : typeof value === "string" ? value.split(",") : [];
  const found = known.filter((one) => given.includes(one));
  return found.length > 0 ? found : undefined;
}

/** Names of columns and the like, which only the data knows. */
export function texts(value: unknown): string[] | undefined {
  const found = (Array.isArray(value) ? value : []).map(text).filter((one) => one !== undefined);
  return found.length > 0 ? found.slice(0, 200) : undefined;
}

/** A moment or a day, as `Date` reads it. */
export function time(value: unknown): string | undefined {
  const read = text(value);
  return read !== undefined && !Number.isNaN(Date.parse(read)) ? read : undefined;
}
