import { useMemo } from "react";
import { useMe } from "./me";
import { PARTS, type Part } from "./screens";

const RANKS = { viewer: 0, operator: 1, admin: 2 };

/** The parts of the navigation for this user: without what their role never sees, and what is switched off. */
export function useVisibleParts(): Part[] {
  const me = useMe();
  return useMemo(
    () =>
      PARTS.map((part) => ({
        ...part,
        screens: part.screens.filter((one) => RANKS[me.role] >= RANKS[one.role ?? "viewer"]),
      })),
    [me.role],
  );
}
