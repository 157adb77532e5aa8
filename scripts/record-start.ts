/**
 * `npm run record-start`: records the functions that a start of the service calls, in `packages/server/start.order`, for the order of the
 * bytecode in the executable. Worth a run when much code of the start was written anew: an older record stays correct, and orders less.
 */
import { copyFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { recordedStart } from "./compile.ts";
import { built } from "./isolated.ts";

const folder = mkdtempSync(join(tmpdir(), "socle-record-"));
try {
  const file = join(folder, "start.order");
  const env = { ...process.env, BUN_BYTECODE_ORDER_OUT: file, SERVICE_PORT: "0" };
  const service = Bun.spawn([built, "serve"], { cwd: folder, env, stdout: "pipe", stderr: "inherit" });
  for await (const text of service.stdout.pipeThrough(new TextDecoderStream()))
    if (text.includes("Listening on")) break;
  service.kill("SIGINT");
  if ((await service.exited) !== 0) throw new Error(`${built} did not stop as it should`);
  copyFileSync(file, recordedStart);
  console.log(`Wrote ${recordedStart}`);
} finally {
  rmSync(folder, { recursive: true, force: true });
}
