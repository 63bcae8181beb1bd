import { useMemo } from "react";
import { useMe, type Me } from "./me";
import { APPLICATIONS, PARTS, servedScreen, type Part, type Screen } from "./screens";

const RANKS = { viewer: 0, operator: 1, admin: 2 };

/** The parts of the navigation for this user: without what their role never sees, and what is switched off. */
export function useVisibleParts(): Part[] {
  const me = useMe();
  return useMemo(() => visibleParts(me), [me]);
}

/** Without parts that nothing is left of, and with the pages that extensions serve themselves. */
export function visibleParts(me: Seen): Part[] {
  const known = new Set(PARTS.flatMap((part) => part.screens.map((one) => one.to)));
  const served = me.screens.filter((one) => !known.has(one.path)).map((one) => servedScreen(one.path, one.name));
  return PARTS.map((part) => ({
    ...part,
    screens: [...part.screens.filter((one) => refusal(one, me) === null), ...(part.name === APPLICATIONS ? served : [])],
  })).filter((part) => part.screens.length > 0);
}

type Seen = Pick<Me, "role" | "flags" | "screens">;

/** Whether the application has installed the extension that this screen belongs to. */
export function useInstalled(path: string): boolean {
  return useMe().screens.some((one) => one.path === path);
}

/** Why this user cannot use a screen; null: they can. */
export function refusal(screen: Screen, me: Seen): "role" | "off" | "missing" | null {
  if (screen.brought && !me.screens.some((one) => one.path === screen.to)) return "missing";
  if (RANKS[me.role] < RANKS[screen.role ?? "viewer"]) return "role";
  return screen.flag !== undefined && !me.flags[screen.flag] ? "off" : null;
}

/** The screen that an address belongs to: the longest of the navigation that it begins with. */
export function screenAt(pathname: string): Screen | null {
  const fitting = PARTS.flatMap((part) => part.screens).filter((one) => pathname === one.to || pathname.startsWith(`${one.to}/`));
  return fitting.sort((a, b) => b.to.length - a.to.length)[0] ?? null;
}
