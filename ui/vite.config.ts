import react from "@vitejs/plugin-react";
import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

// `make up`, then `npm run dev`: pages from here, everything else from the service.
const service = process.env.PENSTOCK_URL ?? "http://127.0.0.1:8080";

export default defineConfig({
  plugins: [react()],
  resolve: { alias: { "~": fileURLToPath(new URL("./src", import.meta.url)) } },
  build: {
    outDir: "../src/penstock/console/web",
    emptyOutDir: true,
    target: "es2022",
    // Browsers that know light-dark(): what stands in for it in older ones takes neither colour with Mantine.
    cssTarget: ["chrome123", "firefox120", "safari17.5"],
    // A strict policy knows no data: addresses for scripts and styles.
    assetsInlineLimit: 0,
    reportCompressedSize: false,
    // What many screens share comes in one file instead of fifty small ones.
    rolldownOptions: { output: { advancedChunks: { groups: [{ name: "shared", test: /node_modules/, minShareCount: 6 }] } } },
  },
  server: { proxy: { "/api": service, "/login": service } },
  test: { environment: "node", include: ["src/**/*.test.ts"] },
});
