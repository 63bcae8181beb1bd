import type { Schemas } from "~/api/client";
import { count, many } from "~/blocks/wording";

export type Place = Schemas["SourceItem"];
export type Report = Schemas["ScanReport"];

/** Where it is, in a line. Logins are named by their variables, never shown. */
export function placeWords({ kind, place }: Pick<Place, "kind" | "place">): string {
  switch (kind) {
    case "folder":
      return `Folder ${place.path ?? ""}`;
    case "s3":
      return `Bucket ${place.bucket ?? ""}${place.prefix ? `, below ${place.prefix}` : ""}${place.endpoint ? ` at ${place.endpoint}` : ""}`;
    case "ftp":
      return `FTP ${place.host ?? ""}${place.port ? `:${place.port}` : ""}${place.path ? `, folder ${place.path}` : ""}`;
  }
}

/** What a scan saw and did, the parts that are not zero. */
export function reportWords(report: Report): string {
  const parts: [number, string][] = [
    [report.new, "new"],
    [report.waiting, "not yet the same for long enough"],
    [report.submitted, report.dryRun ? "to be taken" : "taken as jobs"],
    [report.duplicate, "known already"],
    [report.refused, "refused"],
    [report.failed, "to be tried again"],
    [report.gone, "gone"],
  ];
  const told = parts.filter(([number]) => number > 0).map(([number, words]) => `${count(number)} ${words}`);
  return [`${many(report.seen, "file")} seen`, ...told].join(", ") + (report.more ? "; more is left for the next scan" : "");
}
