// Where on a site something stands, for what is kept without a place of its own.
type Page = { url: string; title: string | null; description: string | null; text: string; links: string[] };

/** Pages whose text, title, description or links hold it; spaces and case do not count. */
export function pagesWith<P extends Page>(value: string, pages: P[]): P[] {
  const wanted = plain(value);
  if (wanted === "") return [];
  return pages.filter((page) => [page.text, page.title, page.description, ...page.links].some((part) => part !== null && plain(part).includes(wanted)));
}

function plain(text: string): string {
  return text.toLowerCase().replaceAll(/[\s\u00a0]+/g, "");
}
