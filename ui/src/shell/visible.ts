import { useMemo } from "react";
import { useMe, type Me } from "./me";
import { PARTS, type Part, type Screen } from "./screens";

const RANKS = { viewer: 0, operator: 1, admin: 2 };

/** The parts of the navigation for this user: without what their role never sees, and what is switched off. */
export function useVisibleParts(): Part[] {
  const me = useMe();
  return useMemo(
    () =>
      PARTS.map((part) => ({
        ...part,
        screens: part.screens.filter((one) => refusal(one, me) === null),
      })),
    [me],
  );
}

/** Why this user cannot use a screen; null: they can. */
export function refusal(screen: Screen, me: Pick<Me, "role" | "flags">): "role" | "off" | null {
  if (RANKS[me.role] < RANKS[screen.role ?? "viewer"]) return "role";
  return screen.flag !== undefined && !me.flags[screen.flag] ? "off" : null;
}

/** The screen that an address belongs to: the longest of the navigation that it begins with. */
export function screenAt(pathname: string): Screen | null {
  const fitting = PARTS.flatMap((part) => part.screens).filter((one) => pathname === one.to || pathname.startsWith(`${one.to}/`));
  return fitting.sort((a, b) => b.to.length - a.to.length)[0] ?? null;
}
