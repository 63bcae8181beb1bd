/** Somebody who asks for what failed wants to know why, and for what waits: that comes right behind the status. */
export function columnOrder<C extends { id: string }>(columns: readonly C[], filter: { status?: readonly string[]; group?: string }): C[] {
  const asked = new Set<string>();
  if (filter.group !== undefined || filter.status?.includes("ERROR")) asked.add("error");
  if (filter.status?.includes("PENDING")) asked.add("why");
  const rest = columns.filter((column) => !asked.has(column.id));
  const behind = rest.findIndex((column) => column.id === "status") + 1;
  return [...rest.slice(0, behind), ...columns.filter((column) => asked.has(column.id)), ...rest.slice(behind)];
}
