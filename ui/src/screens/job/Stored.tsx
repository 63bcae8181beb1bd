import { Anchor } from "@mantine/core";
import classes from "./job.module.css";
import { webAddress } from "~/blocks/webAddress";
import { asText } from "./reading";

/** A value that somebody stored, as text; a web address as a link that tells the other side nothing. */
export function Stored({ value }: { value: unknown }) {
  if (value === null || value === undefined || value === "") return <span className="quiet">empty</span>;
  const text = asText(value);
  const address = webAddress(value);
  if (address !== null)
    return (
      <Anchor href={address} target="_blank" rel="noopener noreferrer nofollow" className="stored">
        {text}
      </Anchor>
    );
  return typeof value === "object" ? <Json value={value} /> : <span className="stored">{text}</span>;
}

/** Whole, readable, and reachable by keyboard where it scrolls. */
export function Json({ value, label = "JSON" }: { value: unknown; label?: string }) {
  return (
    <pre className={classes.json} tabIndex={0} role="region" aria-label={label}>
      {JSON.stringify(value, null, 2)}
    </pre>
  );
}
