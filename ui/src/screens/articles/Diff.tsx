import { useMemo } from "react";
import { many } from "~/blocks/wording";
import classes from "./articles.module.css";
import { folded, lineDiff } from "./diff";

const SIGNS = { same: " ", gone: "−", new: "+" };
const WORDS = { same: "", gone: "removed: ", new: "added: " };

/** What differs, line by line; equal stretches are folded. */
export function Diff({ before, after, label }: { before: string; after: string; label: string }) {
  const hunks = useMemo(() => folded(lineDiff(before, after)), [before, after]);
  if (before === after) return <p className="quiet">The text is the same.</p>;
  return (
    <div className={classes.diff} role="region" aria-label={label} tabIndex={0}>
      {hunks.map((hunk, index) =>
        hunk.kind === "skipped" ? (
          <div key={index} className={classes.skipped}>
            … {many(hunk.count, "equal line")}
          </div>
        ) : (
          <div key={index} className={classes.line} data-kind={hunk.kind}>
            <span aria-hidden>{hunk.before}</span>
            <span aria-hidden>{hunk.after}</span>
            <span aria-label={WORDS[hunk.kind] || undefined} role={WORDS[hunk.kind] ? "img" : undefined}>
              {SIGNS[hunk.kind]}
            </span>
            <span className="stored">{hunk.text}</span>
          </div>
        ),
      )}
    </div>
  );
}
