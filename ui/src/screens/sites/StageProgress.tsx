import { Progress, Text, Tooltip } from "@mantine/core";
import type { Schemas } from "~/api/client";
import { count } from "~/blocks/wording";
import classes from "./sites.module.css";
import { STAGE_NAMES, STAGES } from "./stages";

type Step = Schemas["JobStep"];

/** How far all sites of an analysis are in each of the three stages: a bar each, and the same in words. */
export function StageProgress({ steps, total }: { steps: Step[]; total: number }) {
  return (
    <div className={classes.steps}>
      {STAGES.map((stage) => (
        <Stage key={stage} name={STAGE_NAMES[stage]} step={steps.find((one) => one.stage === stage)} total={total} />
      ))}
    </div>
  );
}

function Stage({ name, step, total }: { name: string; step: Step | undefined; total: number }) {
  const parts: [number, string, string][] = [
    [step?.done ?? 0, "done", "green"],
    [step?.cancelled ?? 0, "cancelled", "gray.6"],
    [step?.failed ?? 0, "failed", "red"],
    [step?.running ?? 0, "running", "blue"],
    [step?.waiting ?? 0, "waiting", "gray.4"],
  ];
  const told = parts.filter(([number]) => number > 0).map(([number, word]) => `${count(number)} ${word}`);
  const label = `${name}: ${told.join(", ") || "no site came so far yet"}`;
  return (
    <div>
      <Text size="xs" fw={500}>
        {name}
      </Text>
      <Tooltip label={label} multiline maw={320}>
        <Progress.Root size="sm" role="img" aria-label={label} my={2}>
          {parts.map(([number, word, color]) => (
            <Progress.Section key={word} value={total === 0 ? 0 : (number / total) * 100} color={color} withAria={false} />
          ))}
        </Progress.Root>
      </Tooltip>
      <Text size="xs" c="dimmed" className="numbers">
        {count(step?.done ?? 0)}/{count(total)}
        {(step?.running ?? 0) > 0 && ` · ${count(step?.running)} running`}
        {(step?.failed ?? 0) > 0 && ` · ${count(step?.failed)} failed`}
      </Text>
    </div>
  );
}
