import { Text } from "@mantine/core";
import { Fragment } from "react";
import type { Schemas } from "~/api/client";
import classes from "./articles.module.css";
import { partsOf } from "./marks";

/** The best passage of an article as text, with the words of the query marked. */
export function Passage({ passage }: { passage: Schemas["ShownPassage"] }) {
  return (
    <Text size="sm" className="stored" lineClamp={6} data-passage>
      {partsOf(passage.text, passage.marks).map(({ text, marked, strong }, index) => {
        const shown = strong ? <strong>{text}</strong> : text;
        return marked ? (
          <mark key={index} className={classes.mark}>
            {shown}
          </mark>
        ) : (
          <Fragment key={index}>{shown}</Fragment>
        );
      })}
    </Text>
  );
}
