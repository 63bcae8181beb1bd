import { Badge, Group, Text, Tooltip } from "@mantine/core";
import type { KeyboardEvent, Ref } from "react";
import type { Schemas } from "~/api/client";
import { GoTo } from "~/blocks/links";
import { When } from "~/blocks/When";
import classes from "./articles.module.css";
import { ChipBadge } from "./IndexChip";
import { Passage } from "./Passage";

type Hit = Schemas["HitBody"];

type Props = {
  items: Hit[];
  list?: Ref<HTMLOListElement>;
  /** Up from the first one. */
  onLeave?: () => void;
};

/** What was found, best first. Arrows move from one to the next, Enter opens it. */
export function Hits({ items, list, onLeave }: Props) {
  const bestKeyword = Math.max(...items.map((one) => one.score.keyword?.score ?? 0));
  const bestFused = Math.max(...items.map((one) => one.score.fused));
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
            <Parts score={hit.score} bestKeyword={bestKeyword} bestFused={bestFused} />
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

/** What the order comes from, as small bars. */
function Parts({ score, bestKeyword, bestFused }: { score: Hit["score"]; bestKeyword: number; bestFused: number }) {
  const { semantic, keyword, fused } = score;
  return (
    <Group gap="sm" className="numbers">
      <Bar name="Score" share={fused / (bestFused || 1)} value={fused.toFixed(2)} about="What the order comes from; the bar is its part of the best one." />
      <Bar
        name="Meaning"
        share={semantic?.similarity ?? 0}
        value={semantic ? `${semantic.similarity.toFixed(2)}, place ${semantic.rank}` : "–"}
        about={semantic ? "How near its best passage comes to the query." : "Not among the best by meaning."}
      />
      <Bar
        name="Words"
        share={(keyword?.score ?? 0) / (bestKeyword || 1)}
        value={keyword ? `${keyword.score.toFixed(2)}, place ${keyword.rank}` : "–"}
        about={keyword ? "How well its words fit; the bar is its part of the best one." : "Not among the best by words."}
      />
    </Group>
  );
}

function Bar({ name, share, value, about }: { name: string; share: number; value: string; about: string }) {
  return (
    <Tooltip label={about} multiline maw={260} openDelay={300}>
      <Text size="xs" c="dimmed" span>
        {name}{" "}
        <span className={classes.bar} aria-hidden>
          <span style={{ width: `${Math.max(0, Math.min(1, share)) * 100}%` }} />
        </span>{" "}
        {value}
      </Text>
    </Tooltip>
  );
}
