// Before anything is painted, so that a dark page never flashes white. The same key as in src/theme.ts.
(function () {
  var chosen = null;
  try {
    chosen = localStorage.getItem("penstock-theme");
  } catch (_) {
    // Storage can be forbidden; then the system decides.
  }
  var dark = chosen === "dark" || (chosen !== "light" && matchMedia("(prefers-color-scheme: dark)").matches);
  document.documentElement.setAttribute("data-mantine-color-scheme", dark ? "dark" : "light");
})();
