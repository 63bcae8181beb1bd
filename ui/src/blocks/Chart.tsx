import { Group, Table, Text, UnstyledButton, useComputedColorScheme } from "@mantine/core";
import { useElementSize } from "@mantine/hooks";
import { Table2 } from "lucide-react";
import { useEffect, useMemo, useRef, useState } from "react";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import classes from "./chart.module.css";
import { moment } from "./wording";

export type Line = {
  name: string;
  values: (number | null)[];
  /** One of Mantine's colours; the shade follows the theme. */
  color: "blue" | "green" | "red" | "orange" | "grape" | "gray";
  fill?: boolean;
};

type Props = {
  title: string;
  /** Seconds since 1970, rising. */
  times: number[];
  lines: Line[];
  /** How a value reads: "12/s". */
  unit: (value: number) => string;
  height?: number;
  /** The least that the top of the scale shows, so that nothing at all does not look like much. */
  least?: number;
};

const HEX: Record<Line["color"], [string, string]> = {
  blue: ["#1769c2", "#6ea7e8"],
  green: ["#2b8a3e", "#69db7c"],
  red: ["#c92a2a", "#ff8787"],
  orange: ["#d9480f", "#ffa94d"],
  grape: ["#862e9c", "#da77f2"],
  gray: ["#5c636a", "#a6adb4"],
};

function valueWords(value: number | null | undefined, unit: (value: number) => string): string {
  return value === null || value === undefined ? "–" : unit(value);
}

/** Lines over time, with the value under the pointer in the legend, and the same as a table for who cannot see it. */
export function Chart({ title, times, lines, unit, height = 180, least = 1 }: Props) {
  const dark = useComputedColorScheme("light") === "dark";
  const { ref: box, width } = useElementSize<HTMLDivElement>();
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const [asTable, setAsTable] = useState(false);
  const [at, setAt] = useState<number | null>(null);
  const data = useMemo((): uPlot.AlignedData => [times, ...lines.map((line) => line.values)], [times, lines]);
  const shape = lines.map((line) => `${line.name}:${line.color}:${line.fill}`).join();
  const latest = useRef({ lines, unit, data, width });
  useEffect(() => {
    latest.current = { lines, unit, data, width };
  });

  const ready = width > 0 && !asTable;
  useEffect(() => {
    if (place.current === null || !ready) return;
    const { lines, unit, data, width } = latest.current;
    const grid = { stroke: dark ? "#3b4148" : "#e3e7eb", width: 1 };
    const axis = { stroke: dark ? "#a6adb4" : "#5c636a", grid, ticks: grid, font: "11px system-ui" };
    const made = new uPlot(
      {
        width,
        height,
        // Half of a label of the time stands beyond the last one.
        padding: [10, 20, 0, 0],
        legend: { show: false },
        cursor: { y: false, sync: { key: "penstock" } },
        scales: { y: { range: (_plot, _min, max) => [0, Math.max(max ?? 0, least) * 1.1] } },
        axes: [
          { ...axis, size: 28, values: "{HH}:{mm}" },
          { ...axis, size: 72, values: (_plot, ticks) => ticks.map((tick) => unit(tick)) },
        ],
        series: [
          {},
          ...lines.map((line) => {
            const stroke = HEX[line.color][dark ? 1 : 0];
            return { label: line.name, stroke, width: 1.75, fill: line.fill ? `${stroke}22` : undefined, points: { show: false } };
          }),
        ],
        hooks: { setCursor: [(shown) => setAt(shown.cursor.idx ?? null)] },
      },
      data,
      place.current,
    );
    plot.current = made;
    return () => {
      plot.current = null;
      made.destroy();
    };
  }, [ready, height, dark, shape, least]);

  useEffect(() => {
    if (width > 0) plot.current?.setSize({ width, height });
  }, [width, height]);

  useEffect(() => plot.current?.setData(data), [data]);

  // Without a pointer the last values take the room, unseen: they are of one moment, and would read as a total.
  const point = at ?? times.length - 1;
  const time = times[point];
  return (
    <figure className={classes.figure} aria-label={title}>
      <Group justify="space-between" gap="xs" wrap="nowrap" align="flex-start">
        <figcaption>
          <Text fw={600} size="sm">
            {title}
          </Text>
          <Group gap="sm" data-pointed={at !== null || undefined}>
            {lines.map((line) => (
              <Text key={line.name} size="xs" className="numbers">
                <span className={classes.swatch} style={{ background: HEX[line.color][dark ? 1 : 0] }} /> {line.name}{" "}
                <span className={classes.value}>{valueWords(line.values[point], unit)}</span>
              </Text>
            ))}
            {time !== undefined && (
              <Text size="xs" c="dimmed" className={classes.value}>
                {moment(new Date(time * 1000))}
              </Text>
            )}
          </Group>
        </figcaption>
        <UnstyledButton className={classes.toggle} aria-pressed={asTable} aria-label={`${title} as a table`} onClick={() => setAsTable(!asTable)}>
          <Table2 size={14} aria-hidden />
        </UnstyledButton>
      </Group>
      {asTable ? (
        <Table.ScrollContainer minWidth={240} maxHeight={height} scrollAreaProps={{ viewportProps: { tabIndex: 0 } }}>
          <Table fz="xs" aria-label={title}>
            <Table.Thead>
              <Table.Tr>
                <Table.Th>Time</Table.Th>
                {lines.map((line) => (
                  <Table.Th key={line.name}>{line.name}</Table.Th>
                ))}
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody>
              {times.map((time, row) => (
                <Table.Tr key={time}>
                  <Table.Td>{moment(new Date(time * 1000))}</Table.Td>
                  {lines.map((line) => (
                    <Table.Td key={line.name} className="numbers">
                      {valueWords(line.values[row], unit)}
                    </Table.Td>
                  ))}
                </Table.Tr>
              ))}
            </Table.Tbody>
          </Table>
        </Table.ScrollContainer>
      ) : (
        <div ref={box} className={classes.box} style={{ height }} aria-hidden>
          <div ref={place} />
        </div>
      )}
    </figure>
  );
}
