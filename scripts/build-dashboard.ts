/** `npm run build:dashboard`: `packages/dashboard/dist`, the files that the executable serves under `/_/`. */
import { join } from "node:path";
import { must, root } from "./run.ts";

const vite = join(root, "node_modules/vite/bin/vite.js");

export async function buildDashboard(): Promise<void> {
  await must([process.execPath, vite, "build", "--logLevel", "warn"], { cwd: join(root, "packages/dashboard") });
}

if (import.meta.main) await buildDashboard();
