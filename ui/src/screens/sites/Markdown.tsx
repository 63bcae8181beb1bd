import { Table, Text, Title } from "@mantine/core";
import { webAddress } from "~/blocks/webAddress";
import { blocksOf, type Block, type Span } from "./reportText";
import { Outside } from "./Outside";
import classes from "./sites.module.css";
import { Wide } from "./Wide";

/** The Markdown of a report as React nodes: what strangers wrote stays text. */
export function Markdown({ text }: { text: string }) {
  return (
    <div className={classes.report}>
      {blocksOf(text).map((block, index) => (
        <Shown key={index} block={block} />
      ))}
    </div>
  );
}

function Shown({ block }: { block: Block }) {
  switch (block.kind) {
    case "heading":
      // The page has its h1 already.
      return (
        <Title order={block.level < 3 ? 2 : 3} size={block.level === 1 ? "h2" : "h3"} mt={block.level === 1 ? 0 : "lg"} mb="xs" className="stored">
          <Line line={block.line} />
        </Title>
      );
    case "words":
      return (
        <Text mb="xs" className="stored">
          <Line line={block.line} />
        </Text>
      );
    case "list":
      return (
        <ul>
          {block.lines.map((line, index) => (
            <li key={index} className="stored">
              <Line line={line} />
            </li>
          ))}
        </ul>
      );
    case "quote":
      return (
        <blockquote className={classes.quote}>
          {block.lines.map((line, index) => (
            <Text key={index} className="stored">
              <Line line={line} />
            </Text>
          ))}
        </blockquote>
      );
    case "table":
      return (
        <Wide minWidth={480}>
          <Table fz="sm" withRowBorders>
            <Table.Thead>
              <Table.Tr>
                {block.head.map((cell, index) => (
                  <Table.Th key={index}>
                    <Line line={cell} />
                  </Table.Th>
                ))}
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody>
              {block.rows.map((row, at) => (
                <Table.Tr key={at}>
                  {row.map((cell, index) => (
                    <Table.Td key={index} className="stored">
                      <Line line={cell} />
                    </Table.Td>
                  ))}
                </Table.Tr>
              ))}
            </Table.Tbody>
          </Table>
        </Wide>
      );
  }
}

function Line({ line }: { line: Span[] }) {
  return line.map((span, index) =>
    span.link !== undefined && webAddress(span.link) !== null ? (
      <Outside key={index} url={span.link}>
        {span.text}
      </Outside>
    ) : span.strong ? (
      <strong key={index}>{span.text}</strong>
    ) : (
      <span key={index}>{span.text}</span>
    ),
  );
}
