/** Where the columns that stay at the left begin, in pixels: the first ones, up to one that scrolls. */
export function leftEdges(columns: readonly { width: number; stays?: boolean }[], before: number): number[] {
  const scrolls = columns.findIndex((column) => !column.stays);
  const staying = scrolls < 0 ? columns : columns.slice(0, scrolls);
  let left = before;
  return staying.map(({ width }) => {
    left += width;
    return left - width;
  });
}
