// Ids and addresses that people or sources gave. Only what is surely a web page becomes a link.
import { webAddress } from "~/blocks/webAddress";

/** The page about an entity: its id is an address, or the source has pages for ids of that kind. */
export function pageOf(entity: string, pages: string | null | undefined): string | null {
  const own = webAddress(entity);
  if (own !== null) return own;
  return pages && /^[QPL][1-9]\d*$/.test(entity) ? webAddress(pages + entity) : null;
}
