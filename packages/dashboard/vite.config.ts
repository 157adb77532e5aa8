/**
 * The build of the dashboard. `vite` serves it with hot reload for a service that runs at `SOCLE_URL`
 * (`http://localhost:8080` without one); `vite build` writes `dist`, which the executable embeds.
 */
import { fileURLToPath } from "node:url";
import react from "@vitejs/plugin-react";
import { defineConfig, type Plugin } from "vite";

const service = process.env["SOCLE_URL"] ?? "http://localhost:8080";
const source = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

/** Loads the styles without holding up the paint of the frame in `index.html`: `main.tsx` applies them before it draws. */
const laterStyles: Plugin = {
  name: "later-styles",
  transformIndexHtml: {
    order: "post",
    handler: (html) => html.replaceAll('<link rel="stylesheet"', '<link rel="preload" as="style"'),
  },
};

// biome-ignore lint/style/noDefaultExport: Vite reads the default export.
export default defineConfig({
  base: "/_/",
  plugins: [react(), laterStyles],
  // The packages of the workspace are bundled from their source: no build has to come before this one.
  resolve: {
    alias: {
      "@socle/client": source("../client/src/index.ts"),
      "@socle/protocol/cells": source("../protocol/src/cells/index.ts"),
      "@socle/protocol/filter": source("../protocol/src/filter/index.ts"),
      "@socle/protocol/query": source("../protocol/src/query/index.ts"),
      "@socle/protocol": source("../protocol/src/index.ts"),
    },
  },
  // Nothing is inlined as a data URL: the content security policy allows no font from one.
  build: {
    target: "es2023",
    // Browsers that know light-dark(): the styles stay as they are written.
    cssTarget: ["chrome123", "edge123", "firefox120", "safari17.5"],
    sourcemap: false,
    chunkSizeWarningLimit: 800,
    assetsInlineLimit: 0,
    rolldownOptions: {
      output: {
        // A file of the first paint, and few shared files behind the sign-in: each file is a request.
        codeSplitting: {
          groups: [
            { name: "first", tags: ["$initial"], priority: 2 },
            { name: "small", test: /@mantine\/(core|hooks)/, maxModuleSize: 3_000, minShareCount: 3, priority: 1 },
          ],
        },
      },
    },
  },
  server: {
    port: 5173,
    proxy: {
      "/api": { target: service, changeOrigin: true, ws: true },
      "/health": { target: service, changeOrigin: true },
    },
  },
});
