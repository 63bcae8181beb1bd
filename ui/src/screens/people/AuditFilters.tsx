import { Autocomplete, Button, Group, Select, Switch, TextInput } from "@mantine/core";
import { X } from "lucide-react";
import { useState } from "react";
import { known } from "~/address";
import { fromField, toField } from "~/blocks/timeField";
import { useMe } from "~/shell/me";
import { ACTIONS, AUDIT_KINDS, kindWord } from "./auditWords";

export type Filters = { actor?: string; action?: string; kind?: string; object?: string; since?: string; until?: string; looks?: true };

type Props = { filters: Filters; onChange: (filters: Filters) => void };

/** Each counts when one leaves its field or presses Enter, and stands in the address. */
export function AuditFilters({ filters, onChange }: Props) {
  const me = useMe();
  function put(name: Exclude<keyof Filters, "looks">, value: string | null): void {
    const wanted = value || undefined;
    if (wanted !== filters[name]) onChange(known({ ...filters, [name]: wanted }));
  }
  return (
    <Group gap="sm" align="flex-end" role="search" aria-label="Filters">
      <Typed label="Person" value={filters.actor} onDone={(value) => put("actor", value)} placeholder={me.name} />
      <Typed label="Action" value={filters.action} onDone={(value) => put("action", value)} choices={ACTIONS} placeholder="job.cancel" />
      <Select
        label="Kind"
        w={130}
        clearable
        value={filters.kind ?? null}
        onChange={(value) => put("kind", value)}
        data={[...new Set([...AUDIT_KINDS, ...(filters.kind ? [filters.kind] : [])])].map((kind) => ({ value: kind, label: kindWord(kind) }))}
        placeholder="any"
        clearButtonProps={{ "aria-label": "Any kind" }}
      />
      <Typed label="Object" value={filters.object} onDone={(value) => put("object", value)} placeholder="48" />
      <Time label="From" value={filters.since} onDone={(value) => put("since", value)} />
      <Time label="Until" value={filters.until} onDone={(value) => put("until", value)} />
      {me.role === "admin" && (
        <Switch
          label="Looks, too"
          description="What admins only read of others'"
          checked={filters.looks ?? false}
          onChange={(event) => onChange(known({ ...filters, looks: event.currentTarget.checked || undefined }))}
        />
      )}
      {Object.keys(filters).length > 0 && (
        <Button variant="subtle" leftSection={<X size={14} aria-hidden />} onClick={() => onChange({})}>
          Clear
        </Button>
      )}
    </Group>
  );
}

type TypedProps = { label: string; value: string | undefined; onDone: (value: string) => void; choices?: string[]; placeholder: string };

function Typed({ label, value, onDone, choices, placeholder }: TypedProps) {
  const [typed, setTyped] = useState(value ?? "");
  const [was, setWas] = useState(value);
  // Changed from outside, e.g. by the back button.
  if (was !== value) {
    setWas(value);
    setTyped(value ?? "");
  }
  const done = () => onDone(typed.trim());
  const shared = {
    label,
    value: typed,
    placeholder,
    w: 150,
    maxLength: 200,
    onBlur: done,
    onKeyDown: (event: { key: string }) => {
      if (event.key === "Enter") done();
    },
  };
  return choices ? (
    <Autocomplete {...shared} data={choices} limit={50} onChange={setTyped} onOptionSubmit={onDone} />
  ) : (
    <TextInput {...shared} onChange={(event) => setTyped(event.currentTarget.value)} />
  );
}

function Time({ label, value, onDone }: { label: string; value: string | undefined; onDone: (value: string) => void }) {
  const shown = toField(value);
  return (
    <TextInput
      key={shown}
      label={label}
      type="datetime-local"
      w={200}
      defaultValue={shown}
      onBlur={(event) => {
        const typed = event.currentTarget.value;
        if (typed !== shown) onDone(fromField(typed) ?? "");
      }}
    />
  );
}
