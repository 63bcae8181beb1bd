// What columns mean and how records are matched; the same form for a new project and one that is there.
import { Accordion, Alert, Group, NativeSelect, NumberInput, SimpleGrid, Stack, Table, Text, TextInput, Title } from "@mantine/core";
import { Info } from "lucide-react";
import { many } from "~/blocks/wording";
import { WEIGHTS, type Options } from "./options";
import { choiceOf, CHOICES, featureName, given, oddities, OTHER, roleOf, type Roles } from "./roles";

type RolesProps = {
  columns: string[];
  rows: Record<string, string>[];
  roles: Roles;
  /** Why a column was taken for what it is. */
  because?: Record<string, string>;
  disabled?: boolean;
  onChange: (roles: Roles) => void;
};

const EXAMPLES = 3;

export function RolesForm({ columns, rows, roles, because, disabled, onChange }: RolesProps) {
  const odd = oddities(roles, rows);
  return (
    <Stack gap="xs">
      <Title order={2}>Columns</Title>
      <Text size="sm" c="dimmed">
        One column is the name. Others that are given a role are compared; the rest is only carried along.
      </Text>
      <Table.ScrollContainer minWidth={300} type="native">
        <Table verticalSpacing={6} aria-label="Columns and their roles">
          <Table.Thead>
            <Table.Tr>
              <Table.Th>Column</Table.Th>
              <Table.Th>Role</Table.Th>
              <Table.Th visibleFrom="sm">First values</Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {columns.map((column) => (
              <Table.Tr key={column}>
                <Table.Td className="stored" maw={220}>
                  {column}
                </Table.Td>
                <Table.Td>
                  <Stack gap={4}>
                    <NativeSelect
                      aria-label={`Role of ${column}`}
                      disabled={disabled}
                      value={choiceOf(roles[column])}
                      onChange={(event) => onChange(given(roles, column, roleOf(event.currentTarget.value)))}
                      data={[{ value: "", label: "No role" }, ...CHOICES]}
                    />
                    {choiceOf(roles[column]) === OTHER && (
                      <TextInput
                        aria-label={`Property of ${column}`}
                        placeholder="Such as P1448"
                        disabled={disabled}
                        value={roles[column]?.property ?? ""}
                        onChange={(event) => onChange({ ...roles, [column]: { role: "property", property: event.currentTarget.value } })}
                      />
                    )}
                    {because?.[column] && roles[column] && (
                      <Text size="xs" c="dimmed">
                        {because[column]}
                      </Text>
                    )}
                  </Stack>
                </Table.Td>
                <Table.Td visibleFrom="sm" className="stored" c="dimmed" fz="sm">
                  {examples(column, rows) || "–"}
                </Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      </Table.ScrollContainer>
      {odd.length > 0 && (
        <Alert color="orange" icon={<Info aria-hidden />} title="Worth a look">
          {odd.map((one) => (
            <Text key={one} size="sm" className="stored">
              {one}
            </Text>
          ))}
        </Alert>
      )}
    </Stack>
  );
}

function examples(column: string, rows: Record<string, string>[]): string {
  const values = [...new Set(rows.map((row) => row[column]?.trim() ?? "").filter(Boolean))].slice(0, EXAMPLES);
  return values.map((one) => (one.length > 60 ? `${one.slice(0, 60)}…` : one)).join(" · ");
}

type OptionsProps = { options: Options; roles: Roles; disabled?: boolean; onChange: (options: Options) => void };

export function OptionsForm({ options, roles, disabled, onChange }: OptionsProps) {
  const set = (part: Partial<Options>) => onChange({ ...options, ...part });
  const properties = [...new Set(Object.values(roles).map((one) => one.property ?? ""))].filter(Boolean);
  return (
    <Stack gap="sm">
      <Title order={2}>Matching</Title>
      <SimpleGrid cols={{ base: 1, sm: 2 }}>
        <TextInput
          label="Languages"
          description="Codes, searched in this order."
          disabled={disabled}
          value={options.languages}
          onChange={(event) => set({ languages: event.currentTarget.value })}
        />
        <TextInput
          label="Type of all records"
          description="As the source calls it: Q5 is a human. Empty: any."
          disabled={disabled}
          value={options.types}
          onChange={(event) => set({ types: event.currentTarget.value })}
        />
        <Share label="Accept from this score on" description="By itself, without a person." disabled={disabled} value={options.acceptScore} onChange={(acceptScore) => set({ acceptScore })} />
        <Share label="If the second is so far behind" description="Closer ones wait for review." disabled={disabled} value={options.acceptGap} onChange={(acceptGap) => set({ acceptGap })} />
        <NumberInput
          label="Candidates per name"
          description="1 to 50."
          min={1}
          max={50}
          allowDecimal={false}
          disabled={disabled}
          value={options.candidates}
          onChange={(value) => typeof value === "number" && set({ candidates: value })}
        />
      </SimpleGrid>
      <Accordion variant="contained">
        <Accordion.Item value="weights">
          <Accordion.Control>Weights: how much each feature counts</Accordion.Control>
          <Accordion.Panel>
            <Text size="sm" c="dimmed" mb="xs">
              Only their ratios matter. A property may have a weight of its own; 0 leaves it out.
            </Text>
            <SimpleGrid cols={{ base: 1, xs: 2, md: 4 }}>
              {WEIGHTS.map(([name, label]) => (
                <Weight key={name} label={label} disabled={disabled} most={name === "silence" ? 1 : 100} value={options.weights[name]} onChange={(value) => set({ weights: { ...options.weights, [name]: value ?? 0 } })} />
              ))}
              {properties.map((name) => (
                <Weight
                  key={name}
                  label={featureName(name)}
                  disabled={disabled}
                  most={100}
                  placeholder="As its kind"
                  value={options.properties[name]}
                  onChange={(value) => {
                    const others = Object.fromEntries(Object.entries(options.properties).filter(([other]) => other !== name));
                    set({ properties: value === undefined ? others : { ...others, [name]: value } });
                  }}
                />
              ))}
            </SimpleGrid>
          </Accordion.Panel>
        </Accordion.Item>
      </Accordion>
    </Stack>
  );
}

type ShareProps = { label: string; description: string; disabled?: boolean; value: number; onChange: (value: number) => void };

function Share({ label, description, disabled, value, onChange }: ShareProps) {
  return (
    <NumberInput
      label={label}
      description={description}
      min={0}
      max={1}
      step={0.05}
      decimalScale={2}
      disabled={disabled}
      value={value}
      onChange={(given) => typeof given === "number" && onChange(given)}
    />
  );
}

type WeightProps = { label: string; most: number; placeholder?: string; disabled?: boolean; value: number | undefined; onChange: (value: number | undefined) => void };

function Weight({ label, most, placeholder, disabled, value, onChange }: WeightProps) {
  return (
    <NumberInput
      label={<span className="stored">{label}</span>}
      min={0}
      max={most}
      step={most === 1 ? 0.05 : 0.5}
      decimalScale={2}
      placeholder={placeholder}
      disabled={disabled}
      value={value ?? ""}
      onChange={(given) => onChange(typeof given === "number" ? given : undefined)}
    />
  );
}

/** The first rows as they will be stored. */
export function PreviewTable({ columns, rows, more }: { columns: string[]; rows: Record<string, string>[]; more: boolean }) {
  return (
    <Stack gap="xs">
      <Group justify="space-between">
        <Title order={2}>First rows</Title>
        <Text size="xs" c="dimmed">
          {more ? `The first ${many(rows.length, "row")}; there are more.` : rows.length === 1 ? "The only row." : `All ${many(rows.length, "row")}.`}
        </Text>
      </Group>
      <Table.ScrollContainer minWidth={Math.min(1200, 80 + columns.length * 140)} maxHeight={320} type="native" tabIndex={0} aria-label="First rows" role="region">
        <Table stickyHeader verticalSpacing={4} fz="sm">
          <Table.Thead>
            <Table.Tr>
              <Table.Th>Row</Table.Th>
              {columns.map((column) => (
                <Table.Th key={column} className="stored">
                  {column}
                </Table.Th>
              ))}
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {rows.map((row, index) => (
              <Table.Tr key={index}>
                <Table.Td className="numbers" c="dimmed">
                  {index + 1}
                </Table.Td>
                {columns.map((column) => (
                  <Table.Td key={column} className="stored" maw={280}>
                    {(row[column] ?? "").slice(0, 300)}
                  </Table.Td>
                ))}
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      </Table.ScrollContainer>
    </Stack>
  );
}
