// An order of names that people change.

export function moved(order: string[], name: string, by: -1 | 1): string[] {
  const at = order.indexOf(name);
  const to = at + by;
  if (at < 0 || to < 0 || to >= order.length) return order;
  return order.map((one, place) => (place === to ? name : place === at ? (order[to] ?? one) : one));
}

/** The last one stays: an order of none says nothing. */
export function toggled(order: string[], name: string): string[] {
  if (!order.includes(name)) return [...order, name];
  return order.length === 1 ? order : order.filter((one) => one !== name);
}
