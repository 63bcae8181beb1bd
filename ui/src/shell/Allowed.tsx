import { Tooltip } from "@mantine/core";
import { cloneElement, type ReactElement } from "react";
import { useRefusal, type Role } from "./me";

type Props = {
  role: Role;
  owner?: string | null;
  /** Another reason why not, which comes first: "It is running." */
  unless?: string | null;
  children: ReactElement<{ disabled?: boolean; "data-disabled"?: boolean; "aria-disabled"?: boolean; onClick?: unknown }>;
};

/** A button one may not press is shown, disabled, with the reason. It stays in the tab order, so the reason is reachable. */
export function Allowed({ role, owner, unless, children }: Props) {
  const refusal = useRefusal(role, owner);
  const reason = unless ?? refusal;
  if (!reason) return children;
  return (
    <Tooltip label={reason} multiline maw={320} events={{ hover: true, focus: true, touch: true }}>
      {cloneElement(children, {
        "data-disabled": true,
        "aria-disabled": true,
        onClick: (event: { preventDefault: () => void }) => event.preventDefault(),
      })}
    </Tooltip>
  );
}
