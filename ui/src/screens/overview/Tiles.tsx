import { Paper, SimpleGrid, Text } from "@mantine/core";
import { createLink } from "@tanstack/react-router";
import type { ReactNode, Ref } from "react";
import type { Schemas } from "~/api/client";
import { Sparkline } from "~/blocks/Sparkline";
import { count, duration, percent, rate } from "~/blocks/wording";
import { bars, type Point } from "~/screens/running/history";
import { useMe } from "~/shell/me";
import classes from "./overview.module.css";

/** The six numbers that tell how it goes, each with its last hour. */
export function Tiles({ totals, points }: { totals: Schemas["Totals"]; points: Point[] }) {
  const { busy, slots } = totals;
  const admin = useMe().role === "admin";
  const share = slots > 0 ? Math.min(1, busy / slots) : null;
  return (
    <SimpleGrid cols={{ base: 2, sm: 3, lg: 6 }} spacing="sm">
      {/* Workers take more than they run, so that none waits for its next one. */}
      <Tile name="Running" value={count(busy)} more={`${count(totals.running)} taken by workers`} to="/stages" search={{ busy: true }}>
        <Sparkline values={bars(points, (one) => one.running, "highest")} label="Taken by workers in the last hour" />
      </Tile>
      <Tile
        name="Waiting"
        value={count(totals.waiting)}
        more={totals.oldestWaitSeconds === null ? "none is due" : `oldest ${duration(totals.oldestWaitSeconds)}`}
        to="/stages" search={{ busy: true }}
      >
        <Sparkline values={bars(points, (one) => one.waiting, "highest")} label="Waiting in the last hour" />
      </Tile>
      <Tile
        name="Failed"
        value={count(totals.failedLastHour)}
        more="in the last hour"
        bad={totals.failedLastHour > 0}
        {...(admin ? { to: "/errors", search: { hours: 1, everybody: true } } : { to: "/stages", search: { busy: true } })}
      >
        <Sparkline values={bars(points, (one) => one.failed, "sum")} label="Failed in the last hour" />
      </Tile>
      <Tile name="Rate" value={rate(totals.endedPerSecond)} more={`${rate(totals.arrivedPerSecond)} come in`} to="/stages">
        <Sparkline values={bars(points, (one) => one.done + one.failed + one.endedOtherwise, "sum")} label="Ended in the last hour" />
      </Tile>
      <Tile
        name="Run time"
        value={duration(totals.runP95Seconds)}
        more={totals.runP95Seconds === null ? "nothing ran for an hour" : "95 % within, 1 h"}
        to="/stages"
      >
        <Sparkline values={bars(points, (one) => one.runP95Seconds, "highest")} label="95 % of runs within, in the last hour" />
      </Tile>
      <Tile
        name="Busy"
        value={share === null ? "–" : percent(share)}
        more={slots === 0 ? "no worker" : `${count(busy)} of ${count(slots)} processors`}
        to="/workers"
      >
        <Sparkline values={bars(points, (one) => one.running, "highest")} label="Taken by workers in the last hour" />
      </Tile>
    </SimpleGrid>
  );
}

type Props = { name: string; value: string; more: string; bad?: boolean; children?: ReactNode; ref?: Ref<HTMLAnchorElement> };

const Tile = createLink(function Tile({ name, value, more, bad, children, ...link }: Props) {
  return (
    <Paper component="a" withBorder p="sm" className={classes.tile} data-tile={name} {...link}>
      <Text size="sm" c="dimmed">
        {name}
      </Text>
      <Text className={classes.value} c={bad ? "red" : undefined}>
        {value}
      </Text>
      <Text size="xs" c="dimmed" className="numbers">
        {more}
      </Text>
      <div className={classes.spark}>{children}</div>
    </Paper>
  );
});
