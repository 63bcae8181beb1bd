/** A small picture of counts over time; its words are the label. */
export function Sparkline({ values, label, width = 96, height = 22 }: { values: number[]; label: string; width?: number; height?: number }) {
  const most = Math.max(1, ...values);
  const bar = width / Math.max(1, values.length);
  return (
    <svg width={width} height={height} viewBox={`0 0 ${width} ${height}`} preserveAspectRatio="none" role="img" aria-label={label}>
      {values.map((value, index) => {
        const tall = value === 0 ? 1 : Math.max(2, (value / most) * height);
        return (
          <rect
            key={index}
            x={index * bar}
            y={height - tall}
            width={Math.max(1, bar - 1)}
            height={tall}
            fill="currentColor"
            opacity={value === 0 ? 0.25 : 0.85}
          />
        );
      })}
    </svg>
  );
}
