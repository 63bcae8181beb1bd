// Ids and addresses that people or sources gave. Only what is surely a web page becomes a link.

/** The address if it is one of the web, else null: `javascript:` and the like are text. */
export function webAddress(text: string): string | null {
  const given = text.trim();
  if (!/^https?:\/\/[^\s]+$/i.test(given)) return null;
  try {
    const url = new URL(given);
    return url.protocol === "http:" || url.protocol === "https:" ? url.href : null;
  } catch {
    return null;
  }
}

/** The page about an entity: its id is an address, or the source has pages for ids of that kind. */
export function pageOf(entity: string, pages: string | null | undefined): string | null {
  const own = webAddress(entity);
  if (own !== null) return own;
  return pages && /^[QPL][1-9]\d*$/.test(entity) ? webAddress(pages + entity) : null;
}
