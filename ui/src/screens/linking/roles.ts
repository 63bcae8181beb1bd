// What columns are read as, in the words people choose from.
import type { Schemas } from "~/api/client";
import { many } from "~/blocks/wording";

export type Role = Schemas["RoleBody"];
export type Roles = Record<string, Role>;

export const PROPERTIES: [string, string][] = [
  ["P569", "Date of birth"],
  ["P570", "Date of death"],
  ["P571", "Founded"],
  ["P17", "Country"],
  ["P27", "Citizenship"],
  ["P106", "Occupation"],
  ["P625", "Coordinates"],
  ["P856", "Website"],
  ["P1082", "Population"],
  ["P213", "ISNI"],
  ["P214", "VIAF"],
  ["P227", "GND"],
  ["P496", "ORCID iD"],
  ["P1566", "GeoNames"],
];
const NAMES = new Map(PROPERTIES);
export const OTHER = "other";

const WORDS: Record<Role["role"], string> = {
  name: "Name",
  alias: "Other names",
  type: "Type",
  language: "Language",
  property: "Property",
};

export const CHOICES: { group: string; items: { value: string; label: string }[] }[] = [
  {
    group: "Searched and compared",
    items: [
      { value: "name", label: "Name" },
      { value: "alias", label: "Other names" },
      { value: "type", label: "Type" },
      { value: "language", label: "Language" },
    ],
  },
  {
    group: "Properties that are compared",
    items: [...PROPERTIES.map(([id, name]) => ({ value: id, label: `${name} (${id})` })), { value: OTHER, label: "Another property …" }],
  },
];

/** "Date of birth (P569)", "Type"; a feature of a score has the same words. */
export function featureName(feature: string): string {
  const known = NAMES.get(feature);
  if (known !== undefined) return `${known} (${feature})`;
  const limit = /^(\w+) limit$/.exec(feature);
  if (limit) return `Limit: ${limit[1]}`;
  return feature === "name" ? "Name" : feature === "type" ? "Type" : feature;
}

export function roleName(role: Role | undefined): string {
  if (role === undefined) return "No role";
  return role.role === "property" ? featureName(role.property ?? "") : WORDS[role.role];
}

/** What a select shows for a role. */
export function choiceOf(role: Role | undefined): string {
  if (role === undefined) return "";
  if (role.role !== "property") return role.role;
  return NAMES.has(role.property ?? "") ? (role.property ?? OTHER) : OTHER;
}

export function roleOf(choice: string): Role | undefined {
  if (choice === "") return undefined;
  if (choice === OTHER) return { role: "property", property: "" };
  if (choice === "name" || choice === "alias" || choice === "type" || choice === "language") return { role: choice };
  return { role: "property", property: choice };
}

/** A column gets a role; the name and the language have one column each, so the other one lets it go. */
export function given(roles: Roles, column: string, role: Role | undefined): Roles {
  const next = Object.fromEntries(
    Object.entries(roles).filter(([other, one]) => other !== column && !(one.role === role?.role && (role.role === "name" || role.role === "language"))),
  );
  return role === undefined ? next : { ...next, [column]: role };
}

/** Why the roles cannot be stored yet; null: they can. */
export function refusal(roles: Roles): string | null {
  if (!Object.values(roles).some((one) => one.role === "name")) return "Say which column holds the name: it is what is searched for.";
  const open = Object.entries(roles).find(([, one]) => one.role === "property" && !one.property?.trim());
  return open ? `Say which property the column ${open[0]} is, such as P569.` : null;
}

/** What is odd about the first rows, for people to look at before they store them. */
export function oddities(roles: Roles, rows: Record<string, string>[]): string[] {
  const column = nameColumn(roles);
  if (column === null || rows.length === 0) return [];
  const names = rows.map((row) => row[column]?.trim() ?? "");
  const empty = names.filter((name) => name === "").length;
  const first = names.filter((name) => name !== "");
  const twice = first.length - new Set(first).size;
  const said: string[] = [];
  if (empty > 0) said.push(`${empty} of the first ${many(rows.length, "row")} ${empty === 1 ? "has" : "have"} no name: nothing can be searched for there.`);
  if (first.length > 0 && first.every((name) => !/\p{L}/u.test(name))) said.push(`The column ${column} holds no letters. Is it the name?`);
  if (twice > 0) said.push(`${twice} of the first ${many(rows.length, "name")} ${twice === 1 ? "is" : "are"} there more than once. Equal names are searched once.`);
  return said;
}

export function nameColumn(roles: Roles): string | null {
  return Object.entries(roles).find(([, one]) => one.role === "name")?.[0] ?? null;
}
