import { createTheme, localStorageColorSchemeManager, type MantineColorsTuple } from "@mantine/core";

// The same key as in public/theme.js.
export const colorSchemeManager = localStorageColorSchemeManager({ key: "penstock-theme" });

const water: MantineColorsTuple = [
  "#e8f3ff",
  "#cfe3fa",
  "#a0c6f1",
  "#6ea7e8",
  "#458de1",
  "#2b7ddc",
  "#1769c2",
  "#0b5cad",
  "#084b90",
  "#053866",
];

export const theme = createTheme({
  primaryColor: "water",
  primaryShade: { light: 7, dark: 6 },
  colors: { water },
  defaultRadius: "md",
  fontFamily: "system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', sans-serif",
  fontFamilyMonospace: "ui-monospace, 'SF Mono', Menlo, Consolas, 'DejaVu Sans Mono', monospace",
  headings: { fontWeight: "650", sizes: { h1: { fontSize: "1.5rem" }, h2: { fontSize: "1.15rem" }, h3: { fontSize: "1rem" } } },
  cursorType: "pointer",
  autoContrast: true,
  respectReducedMotion: true,
});
