// Addresses that strangers stored: where one may lead to, and how it is shown.

/** Without what all of them have: "example.com/shop". */
export function shortAddress(url: string): string {
  return url.replace(/^https?:\/\//i, "").replace(/\/$/, "");
}

/** Of a page of the site, only what differs: "/contact". */
export function pathOf(url: string): string {
  try {
    const read = new URL(url);
    return read.pathname + read.search;
  } catch {
    return url;
  }
}

/** How many sites pasted text may mean: what stands between commas, spaces and line ends, and has a dot or a scheme. */
export function countAddresses(text: string): number {
  const found = text.split(/[\s,;]+/).filter((word) => /^[^@]+\.[^@]+$|^https?:\/\//i.test(word));
  return new Set(found.map((word) => shortAddress(word.toLowerCase()))).size;
}
