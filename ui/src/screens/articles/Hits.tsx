import { Badge, Group, Text, Tooltip } from "@mantine/core";
import type { KeyboardEvent, Ref } from "react";
import type { Schemas } from "~/api/client";
import { GoTo } from "~/blocks/links";
import { When } from "~/blocks/When";
import { sentence } from "~/blocks/wording";
import classes from "./articles.module.css";
import { ChipBadge } from "./IndexChip";
import { Passage } from "./Passage";

type Hit = Schemas["Hit"];

type Props = {
  items: Hit[];
  list?: Ref<HTMLOListElement>;
  /** Up from the first one. */
  onLeave?: () => void;
};

/** What was found, best first. Arrows move from one to the next, Enter opens it. */
export function Hits({ items, list, onLeave }: Props) {
  function onKeyDown(event: KeyboardEvent<HTMLOListElement>): void {
    if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
    const links = [...event.currentTarget.querySelectorAll<HTMLElement>("[data-hit] a[data-title]")];
    const at = links.indexOf(event.target as HTMLElement);
    if (at < 0) return;
    event.preventDefault();
    const next = links[event.key === "ArrowDown" ? at + 1 : at - 1];
    if (next) next.focus();
    else if (event.key === "ArrowUp") onLeave?.();
  }
  return (
    <ol className={classes.hits} ref={list} onKeyDown={onKeyDown} aria-label="Results">
      {items.map((hit) => (
        <li key={hit.slug} className={classes.hit} data-hit={hit.slug}>
          <Group justify="space-between" gap="xs" mb={4}>
            <GoTo to="/articles/$slug" params={{ slug: hit.slug }} fw={600} className="stored" data-title>
              {hit.title}
            </GoTo>
            <ChipBadge chip={hit.chip} />
          </Group>
          <Passage passage={hit.passage} />
          <Group gap="md" mt={8}>
            <Text size="xs" c="dimmed">
              {hit.author}, <When at={hit.updatedAt} />
            </Text>
            <Places score={hit.score} />
            <Why hit={hit} />
          </Group>
        </li>
      ))}
    </ol>
  );
}

function Why({ hit }: { hit: Hit }) {
  if (hit.stale)
    return (
      <Badge color="orange" variant="light" tt="none">
        Found by an older text
      </Badge>
    );
  if (hit.score.semantic === null && hit.chip !== "indexed")
    return (
      <Badge color="gray" variant="light" tt="none">
        Found by its words, not embedded yet
      </Badge>
    );
  return null;
}

/** What the order comes from. The numbers mean something to whoever compares them, and are there for those. */
function Places({ score: { semantic, keyword, fused } }: { score: Hit["score"] }) {
  const places = [semantic && `place ${semantic.rank} by meaning`, keyword && `place ${keyword.rank} by words`].filter(Boolean).join(", ");
  const numbers = [semantic && `similarity ${semantic.similarity.toFixed(2)}`, keyword && `words ${keyword.score.toFixed(2)}`, `together ${fused.toFixed(2)}`];
  return (
    <Tooltip label={sentence(numbers.filter(Boolean).join(", "))} openDelay={300}>
      <Text size="xs" c="dimmed" className="numbers" data-places>
        {sentence(places)}
      </Text>
    </Tooltip>
  );
}
