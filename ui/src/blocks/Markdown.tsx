import { Anchor, Divider, Text } from "@mantine/core";
import { useMemo, type ReactNode } from "react";
import { count } from "~/blocks/wording";
import classes from "./articles.module.css";
import { blocksOf, type Block, type Inline } from "./markdown";

/** A page with more than this would hold up the browser on every letter that is typed. */
const MOST_SHOWN = 60_000;
const SIZES = ["1.35rem", "1.2rem", "1.08rem", "1rem", "0.95rem", "0.95rem"];

/** Markdown as elements of the page: what it does not know is shown as text. */
export function Markdown({ text }: { text: string }) {
  const blocks = useMemo(() => blocksOf(text.slice(0, MOST_SHOWN)), [text]);
  return (
    <div className={classes.markdown}>
      {blocks.map(block)}
      {text.length > MOST_SHOWN && (
        <Text size="sm" c="dimmed">
          The first {count(MOST_SHOWN)} of {count(text.length)} characters are shown here.
        </Text>
      )}
    </div>
  );
}

function block(one: Block, key: number): ReactNode {
  switch (one.kind) {
    case "heading":
      // No heading of the page: an article may begin with any level, and its title is the h1.
      return (
        <p key={key} className={classes.heading} style={{ fontSize: SIZES[one.level - 1] }}>
          {one.inside.map(inline)}
        </p>
      );
    case "paragraph":
      return <p key={key}>{one.inside.map(inline)}</p>;
    case "quote":
      return <blockquote key={key}>{one.blocks.map(block)}</blockquote>;
    case "list":
      return one.ordered ? (
        <ol key={key} start={one.start}>
          {one.items.map(item)}
        </ol>
      ) : (
        <ul key={key}>{one.items.map(item)}</ul>
      );
    case "code":
      return (
        <pre key={key} tabIndex={0}>
          {one.text}
        </pre>
      );
    case "rule":
      return <Divider key={key} my="md" />;
  }
}

/** A lone paragraph is the text of the item itself. */
function item(blocks: Block[], key: number): ReactNode {
  const [first, ...rest] = blocks;
  return (
    <li key={key}>
      {first?.kind === "paragraph" ? first.inside.map(inline) : first && block(first, 0)}
      {rest.map((one, index) => block(one, index + 1))}
    </li>
  );
}

function inline(one: Inline, key: number): ReactNode {
  switch (one.kind) {
    case "text":
      return one.text;
    case "code":
      return <code key={key}>{one.text}</code>;
    case "strong":
      return <strong key={key}>{one.inside.map(inline)}</strong>;
    case "em":
      return <em key={key}>{one.inside.map(inline)}</em>;
    case "strike":
      return <s key={key}>{one.inside.map(inline)}</s>;
    case "link":
      return (
        <Anchor key={key} href={one.href} target="_blank" rel="noopener noreferrer nofollow" inherit underline="always">
          {one.inside.map(inline)}
        </Anchor>
      );
  }
}
