import { useSuspenseQuery } from "@tanstack/react-query";
import { api, ask, type Schemas } from "~/api/client";

export type Me = Schemas["Me"];
export type Role = Me["role"];

const RANKS: Record<Role, number> = { viewer: 0, operator: 1, admin: 2 };

/** Who is signed in. Fetched before anything else is shown. */
export function useMe(): Me {
  return useSuspenseQuery({
    queryKey: ["me"],
    queryFn: ({ signal }) => ask(api.GET("/api/me", { signal })),
    staleTime: 60_000,
  }).data;
}

/** Whose things a list asks for: everybody's only for admins, whatever an address that somebody sent them says. */
export function useWhose(everybody: boolean | undefined): "me" | "all" {
  return useMe().role === "admin" && everybody ? "all" : "me";
}

/** What a viewer reads where others are led to their first step. */
export const VIEWERS = "A viewer starts nothing of their own; an admin can give you the role operator.";

/** null: allowed. Else the sentence that a disabled button shows. */
export function useRefusal(needed: Role, owner?: string | null): string | null {
  const me = useMe();
  if (RANKS[me.role] < RANKS[needed]) return `This needs the role ${needed}; yours is ${me.role}.`;
  if (owner && owner !== me.name && me.role !== "admin") return `This belongs to ${owner}.`;
  return null;
}
