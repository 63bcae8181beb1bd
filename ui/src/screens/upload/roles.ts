// Which column means what: as it was guessed, and as somebody chose.

export type Roles = Record<string, string | null>;
type Column = { name: string; role: string | null };

/** The option of the job when `column` is given `role` (null: none): every role is named, so that nothing is guessed again. */
export function given(columns: Column[], column: string, role: string | null, all: string[]): Roles {
  const roles: Roles = Object.fromEntries(all.map((one) => [one, columns.find((known) => known.role === one)?.name ?? null]));
  for (const one of all) if (roles[one] === column) roles[one] = null;
  if (role !== null) roles[role] = column;
  return roles;
}
