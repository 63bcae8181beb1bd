// Days as people choose them, and the moments that the service takes.

/** The start of a day here, as the service reads it; undefined for what is no day. */
export function dayStart(day: string | undefined): string | undefined {
  const read = midnight(day);
  return read?.toISOString();
}

/** The end of a day, which is included: the start of the next one. */
export function dayEnd(day: string | undefined): string | undefined {
  const read = midnight(day);
  read?.setDate(read.getDate() + 1);
  return read?.toISOString();
}

function midnight(day: string | undefined): Date | undefined {
  const found = /^(\d{4})-(\d\d)-(\d\d)/.exec(day ?? "");
  if (!found) return undefined;
  const read = new Date(Number(found[1]), Number(found[2]) - 1, Number(found[3]));
  return Number.isNaN(read.getTime()) ? undefined : read;
}
