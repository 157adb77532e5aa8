/** Configuration of Vite: React, and requests for the service, which go to the service by the same address as the page. */
import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

const service = process.env["SOCLE_URL"] ?? "http://127.0.0.1:8080";
const proxy = { "/api": { target: service, ws: true }, "/_/": service };

export default defineConfig({
  plugins: [react()],
  server: { proxy, watch: { ignored: ["**/data/**", "**/.socle/**"] } },
  preview: { proxy },
});
