import { describe, expect, it } from "vitest";
import { placeWords, reportWords, type Report } from "./place";

const nothing: Report = {
  source: "in",
  seen: 0,
  new: 0,
  waiting: 0,
  submitted: 0,
  duplicate: 0,
  refused: 0,
  gone: 0,
  failed: 0,
  cleared: 0,
  more: false,
  dryRun: true,
  problem: null,
  files: [],
};

describe("watched places in words", () => {
  it("says where a place is", () => {
    expect(placeWords({ kind: "folder", place: { path: "/data/in" } })).toBe("Folder /data/in");
    expect(placeWords({ kind: "s3", place: { bucket: "lists", prefix: "new/" } })).toBe("Bucket lists, below new/");
    expect(placeWords({ kind: "ftp", place: { host: "ftp.example", port: 2121 } })).toBe("FTP ftp.example:2121");
  });

  it("says what a scan saw, and leaves out what did not happen", () => {
    expect(reportWords({ ...nothing, seen: 3, new: 2, waiting: 1 })).toBe("3 files seen, 2 new, 1 not yet the same for long enough");
    expect(reportWords({ ...nothing, seen: 1, more: true })).toBe("1 file seen; more is left for the next scan");
  });
});
