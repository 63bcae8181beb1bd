import { Anchor, Divider, Table, Text, Title } from "@mantine/core";
import { useMemo, type ReactNode } from "react";
import { blocksOf, type Block, type Inline } from "./markdown";
import classes from "./markdown.module.css";
import { Wide } from "./Wide";
import { count } from "./wording";

const SIZES = ["1.35rem", "1.2rem", "1.08rem", "1rem", "0.95rem", "0.95rem"];

type Props = {
  text: string;
  /** Characters that are shown: what is shown anew with every letter that is typed must not hold up the browser. */
  most?: number;
};

/** Markdown as elements of the page: what it does not know is shown as text. */
export function Markdown({ text, most = 60_000 }: Props) {
  const blocks = useMemo(() => blocksOf(text.slice(0, most)), [text, most]);
  return (
    <div className={classes.markdown}>
      {blocks.map(block)}
      {text.length > most && (
        <Text size="sm" c="dimmed">
          The first {count(most)} of {count(text.length)} characters are shown here.
        </Text>
      )}
    </div>
  );
}

function block(one: Block, key: number): ReactNode {
  switch (one.kind) {
    case "heading":
      // The page has its h1 already, and a text may begin with any level.
      return (
        <Title key={key} order={one.level < 3 ? 2 : 3} className={classes.heading} fz={SIZES[one.level - 1]}>
          {one.inside.map(inline)}
        </Title>
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
    case "table":
      return (
        <Wide key={key} minWidth={Math.min(480, one.head.length * 120)}>
          <Table fz="sm">
            <Table.Thead>
              <Table.Tr>
                {one.head.map((cell, column) => (
                  <Table.Th key={column}>{cell.map(inline)}</Table.Th>
                ))}
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody>
              {one.rows.map((row, number) => (
                <Table.Tr key={number}>
                  {row.map((cell, column) => (
                    <Table.Td key={column}>{cell.map(inline)}</Table.Td>
                  ))}
                </Table.Tr>
              ))}
            </Table.Tbody>
          </Table>
        </Wide>
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
      return one.href === null ? (
        one.written
      ) : (
        <Anchor key={key} href={one.href} target="_blank" rel="noopener noreferrer nofollow" inherit underline="always">
          {one.inside.map(inline)}
        </Anchor>
      );
  }
}
