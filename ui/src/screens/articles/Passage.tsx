import { Text } from "@mantine/core";
import type { Schemas } from "~/api/client";
import classes from "./articles.module.css";
import { partsOf } from "./marks";

/** The best passage of an article, with the words of the query marked. */
export function Passage({ passage }: { passage: Schemas["PassageBody"] }) {
  return (
    <Text size="sm" className="stored" lineClamp={6} data-passage>
      {partsOf(passage.text, passage.marks).map((part, index) =>
        part.marked ? (
          <mark key={index} className={classes.mark}>
            {part.text}
          </mark>
        ) : (
          part.text
        ),
      )}
    </Text>
  );
}
