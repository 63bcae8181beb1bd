import { ActionIcon, Checkbox, Group, Input, NumberInput, Stack, Switch, Text, TextInput } from "@mantine/core";
import { ArrowDown, ArrowUp } from "lucide-react";
import type { Schemas } from "~/api/client";
import { moved, toggled } from "./order";

type Option = Schemas["PipelineOption"];
type Values = Record<string, unknown>;
type Props = { options: Option[]; values: Values; onChange: (values: Values) => void };

/** What the pipeline lets people choose. What is left as it is is not sent. */
export function OptionsForm({ options, values, onChange }: Props) {
  function set(name: string, value: unknown): void {
    onChange(Object.fromEntries(Object.entries({ ...values, [name]: value }).filter(([, one]) => one !== undefined && one !== "")));
  }
  return (
    <Group align="flex-start" gap="lg">
      {options.map((option) => (
        <Field key={option.name} option={option} value={values[option.name] ?? option.default} onChange={(value) => set(option.name, value)} />
      ))}
    </Group>
  );
}

function Field({ option, value, onChange }: { option: Option; value: unknown; onChange: (value: unknown) => void }) {
  switch (option.kind) {
    case "flag":
      return <Switch label={option.label} description={option.help} checked={value === true} onChange={(event) => onChange(event.currentTarget.checked)} />;
    case "number":
      return <NumberInput label={option.label} description={option.help} value={typeof value === "number" ? value : ""} onChange={(next) => onChange(typeof next === "number" ? next : undefined)} />;
    case "order":
      return <Order option={option} value={Array.isArray(value) ? value.map(String) : []} onChange={onChange} />;
    default:
      return <TextInput label={option.label} description={option.help} value={typeof value === "string" ? value : ""} onChange={(event) => onChange(event.currentTarget.value || undefined)} />;
  }
}

function Order({ option, value, onChange }: { option: Option; value: string[]; onChange: (value: string[]) => void }) {
  const listed = [...value, ...option.choices.filter((one) => !value.includes(one))];
  return (
    <Input.Wrapper label={option.label} description={option.help} labelElement="div" maw={520}>
      <Stack gap={4} mt={4} role="group" aria-label={option.label}>
        {listed.map((name, at) => {
          const used = value.includes(name);
          return (
            <Group key={name} gap="xs" wrap="nowrap">
              <Text size="sm" w={18} ta="right" c="dimmed" className="numbers">
                {used ? `${at + 1}.` : "–"}
              </Text>
              <Checkbox size="sm" label={name} checked={used} disabled={used && value.length === 1} onChange={() => onChange(toggled(value, name))} />
              {used && value.length > 1 && (
                <>
                  <ActionIcon variant="subtle" size="sm" aria-label={`Ask ${name} earlier`} disabled={at === 0} onClick={() => onChange(moved(value, name, -1))}>
                    <ArrowUp size={14} aria-hidden />
                  </ActionIcon>
                  <ActionIcon variant="subtle" size="sm" aria-label={`Ask ${name} later`} disabled={at === value.length - 1} onClick={() => onChange(moved(value, name, 1))}>
                    <ArrowDown size={14} aria-hidden />
                  </ActionIcon>
                </>
              )}
            </Group>
          );
        })}
      </Stack>
    </Input.Wrapper>
  );
}
