// Rates of limits in words, and forms.

/** "5/s", "30/min", "2/h": in the unit that gives a whole or short number. */
export function rateWords(perSecond: number | null): string {
  if (perSecond === null) return "no rate";
  for (const [seconds, unit] of [
    [1, "s"],
    [60, "min"],
    [3600, "h"],
  ] as const) {
    const value = perSecond * seconds;
    if (value >= 0.995) return `${Number(value.toFixed(value >= 100 ? 0 : 2))}/${unit}`;
  }
  return `${Number((perSecond * 86400).toFixed(2))}/day`;
}

/** How long a key stays closed, counted on by the clock of this machine from when it was told. */
export function opensIn(toldSeconds: number, toldAt: number, now: number): number {
  return Math.max(0, toldSeconds - Math.max(0, now - toldAt) / 1000);
}
