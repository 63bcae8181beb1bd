/** The address behind what people or strangers stored, if it is surely one of the web: `javascript:` and the like are text. */
export function webAddress(value: unknown): string | null {
  if (typeof value !== "string" || value.length > 2000) return null;
  const given = value.trim();
  if (!/^https?:\/\/\S+$/i.test(given)) return null;
  try {
    const { protocol, hostname, href } = new URL(given);
    return (protocol === "http:" || protocol === "https:") && hostname !== "" ? href : null;
  } catch {
    return null;
  }
}
