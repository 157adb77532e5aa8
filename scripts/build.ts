/** `npm run build`: the dashboard, the executable with the dashboard for this machine, dist/socle, and the client, packages/client/dist. */
import { mkdir } from "node:fs/promises";
import { buildClient } from "./build-client.ts";
import { buildDashboard } from "./build-dashboard.ts";
import { compile } from "./compile.ts";
import { root } from "./run.ts";

await buildDashboard();
await mkdir(`${root}/dist`, { recursive: true });
await compile(`${root}/dist/socle${process.platform === "win32" ? ".exe" : ""}`);
await buildClient();
