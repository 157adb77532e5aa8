/** A real S3 server (the npm package s3rver) on loopback, in a process of its own. */
import { afterAll } from "bun:test";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { temporaryFolder } from "./kit.ts";
import { atEndOfRun } from "./run-end.ts";

export const bucket = "socle-test";
/** The keys that s3rver knows. */
export const s3Key = "S3RVER";

/** Starts the server with an empty bucket; answers its address. The server is stopped after the file's tests. */
export async function startS3(): Promise<{ endpoint: string; stop: () => Promise<void> }> {
  const { endpoint, child } = await start(temporaryFolder());
  const stop = async (): Promise<void> => {
    child.kill();
    await child.exited;
  };
  afterAll(stop);
  return { endpoint, stop };
}

let ofRun: Promise<string> | null = null;

/** The server for all files of a test run, started at the first call, which ends with this process; answers its address. */
export function startS3OfRun(): Promise<string> {
  ofRun ??= startForRun();
  return ofRun;
}

async function startForRun(): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), "socle-bucket-"));
  const { endpoint, child } = await start(folder);
  atEndOfRun(`kill -KILL ${child.pid}; rm -rf '${folder}'`);
  return endpoint;
}

async function start(folder: string): Promise<{ endpoint: string; child: Bun.Subprocess }> {
  // s3rver ciphers the tokens of long lists by DES.
  const command = ["node", "--openssl-legacy-provider", join(import.meta.dir, "s3-process.mjs"), folder, bucket];
  const child = Bun.spawn(command, {
    stdout: "pipe",
    stderr: "inherit",
  });
  const { value } = await child.stdout.getReader().read();
  if (value === undefined) throw new Error("s3rver did not start; is Node.js installed, and was npm ci run?");
  return { endpoint: new TextDecoder().decode(value).trim(), child };
}
