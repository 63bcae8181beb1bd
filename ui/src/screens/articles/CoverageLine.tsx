import { Text } from "@mantine/core";
import type { Schemas } from "~/api/client";
import { GoTo } from "~/blocks/links";
import { When } from "~/blocks/When";
import { count, many } from "~/blocks/wording";

/** On every answer: how much of the articles it comes from. */
export function CoverageLine({ coverage }: { coverage: Schemas["Coverage"] }) {
  const { indexed, stale, pending, total, generation, asOf } = coverage;
  return (
    <Text size="sm" c="dimmed" className="numbers" data-coverage component="div">
      {total > 1 && indexed === total ? `All ${many(total, "article")}` : `${count(indexed)} of ${many(total, "article")}`} can be found by meaning
      {stale > 0 && ` · ${count(stale)} by an older text`}
      {pending > 0 && ` · ${count(pending)} by their words only`} · generation{" "}
      <GoTo to="/index" size="sm" underline="always" className="stored">
        {generation}
      </GoTo>{" "}
      · <When at={asOf} />
    </Text>
  );
}
