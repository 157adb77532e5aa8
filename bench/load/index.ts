/** Generates load from a second process, so that the measured process does not pay for the measuring. */
import { join } from "node:path";
import type { Load, LoadResult } from "./load.ts";
import { runWrk } from "./wrk.ts";

export type { Load, LoadRequest, LoadResult } from "./load.ts";

const hasWrk = Bun.which("wrk") !== null;

export const generator = hasWrk ? "wrk" : "bench/load/sockets.ts";

async function runSockets(load: Load): Promise<LoadResult> {
  const script = join(import.meta.dir, "sockets.ts");
  const child = Bun.spawn([process.execPath, script], {
    stdin: new Blob([JSON.stringify(load)]),
    stdout: "pipe",
    stderr: "inherit",
  });
  return (await new Response(child.stdout).json()) as LoadResult;
}

export function runLoad(load: Load, folder: string): Promise<LoadResult> {
  return hasWrk && load.once !== true ? runWrk(load, folder) : runSockets(load);
}
