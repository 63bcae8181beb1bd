import { NativeSelect, Text } from "@mantine/core";
import { TriangleAlert } from "lucide-react";
import { sentence } from "~/blocks/wording";
import type { Preview } from "./reading";
import classes from "./upload.module.css";

type Props = { found: Preview; roles: string[]; onRole: (column: string, role: string | null) => void };

export function PreviewTable({ found, roles, onRole }: Props) {
  const wrong = new Map<string, string>();
  for (const one of found.problems) if (one.row !== null) wrong.set(`${one.row} ${one.column ?? ""}`, one.sentence);
  return (
    <div>
      <Text size="sm" c="dimmed" mb={4}>
        {found.rows.length < 50 ? "All rows that could be read" : "The first 50 rows"}
        {roles.length > 0 && ", and what their columns are taken for"}
      </Text>
      <div className={classes.scroller} role="region" aria-label="Preview of the rows" tabIndex={0}>
        <table className={classes.table}>
          <thead>
            <tr>
              <th className={classes.number} scope="col">
                Row
              </th>
              {found.columns.map((column, at) => (
                <th key={at} scope="col">
                  <div className="stored">{column.name}</div>
                  {roles.length > 0 && (
                    <NativeSelect
                      size="xs"
                      mt={2}
                      aria-label={`What ${column.name} is`}
                      value={column.role ?? ""}
                      onChange={(event) => onRole(column.name, event.currentTarget.value || null)}
                      data={[{ value: "", label: "not used" }, ...roles.map((role) => ({ value: role, label: ROLES[role] ?? sentence(role) }))]}
                    />
                  )}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {found.rows.map((cells, at) => {
              const whole = wrong.get(`${at + 1} `);
              return (
                <tr key={at} className={whole ? classes.wrong : undefined} title={whole}>
                  <th className={classes.number} scope="row">
                    {whole && <TriangleAlert size={12} className={classes.mark} aria-label="Problem" />} {at + 1}
                  </th>
                  {Array.from({ length: Math.max(cells.length, found.columns.length) }, (_, place) => {
                    const name = found.columns[place]?.name;
                    const problem = name === undefined ? undefined : wrong.get(`${at + 1} ${name}`);
                    return (
                      <td key={place} className={problem ? classes.wrong : undefined} title={problem}>
                        <div className={`stored ${classes.cell}`}>
                          {problem && <TriangleAlert size={12} className={classes.mark} aria-label="Problem" />}
                          {problem && " "}
                          {cells[place]}
                        </div>
                      </td>
                    );
                  })}
                </tr>
              );
            })}
          </tbody>
        </table>
      </div>
    </div>
  );
}

const ROLES: Record<string, string> = { gtin: "GTIN", sku: "Article number", url: "URL" };
