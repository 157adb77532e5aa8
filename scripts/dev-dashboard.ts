/**
 * `npm run dev:dashboard`: the dashboard with hot reload at http://localhost:5173/_/, for a service that runs at
 * `http://localhost:8080`, or at the address in the variable SOCLE_URL.
 */
import { join } from "node:path";
import { root, start } from "./run.ts";

const vite = join(root, "node_modules/vite/bin/vite.js");
process.exit(await start([process.execPath, vite], { cwd: join(root, "packages/dashboard") }));
