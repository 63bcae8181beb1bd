import type { ReactNode } from "react";
import classes from "./facts.module.css";

/** Names and values, for drawers and details. Rows without a value are left out. */
export function Facts({ rows }: { rows: [string, ReactNode][] }) {
  return (
    <dl className={classes.facts}>
      {rows
        .filter(([, value]) => value !== null && value !== undefined && value !== "")
        .map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd className="stored">{value}</dd>
          </div>
        ))}
    </dl>
  );
}
