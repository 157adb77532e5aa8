/** `npm run build`: the dashboard, and the executable with the dashboard for this machine, dist/socle. */
import { mkdir } from "node:fs/promises";
import { buildDashboard } from "./build-dashboard.ts";
import { compile } from "./compile.ts";
import { root } from "./run.ts";

console.log("Building the dashboard");
await buildDashboard();
await mkdir(`${root}/dist`, { recursive: true });
console.log("Compiling dist/socle");
await compile(`${root}/dist/socle${process.platform === "win32" ? ".exe" : ""}`);
