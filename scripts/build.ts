/** `npm run build`: the executable for this machine, dist/socle. */
import { mkdir } from "node:fs/promises";
import { compile } from "./compile.ts";
import { root } from "./run.ts";

await mkdir(`${root}/dist`, { recursive: true });
await compile(`${root}/dist/socle${process.platform === "win32" ? ".exe" : ""}`);
