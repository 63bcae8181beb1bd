import { Switch } from "@mantine/core";
import { useMe } from "~/shell/me";

type Props = { checked: true | undefined; onChange: (everybody: true | undefined) => void };

/** Whether a list also holds what others own. Only admins are asked. */
export function Everybodys({ checked, onChange }: Props) {
  if (useMe().role !== "admin") return null;
  return <Switch label="Everybody's" checked={checked ?? false} onChange={(event) => onChange(event.currentTarget.checked || undefined)} />;
}
