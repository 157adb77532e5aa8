/** A real S3 server (the npm package s3rver) on loopback, in a process of its own. */
import { afterAll } from "bun:test";
import { join } from "node:path";
import { temporaryFolder } from "./kit.ts";

export const bucket = "socle-test";
/** The keys that s3rver knows. */
export const s3Key = "S3RVER";

/** Starts the server with an empty bucket; answers its address. The server is stopped after the file's tests. */
export async function startS3(): Promise<{ endpoint: string; stop: () => Promise<void> }> {
  const child = Bun.spawn(["node", join(import.meta.dir, "s3-process.mjs"), temporaryFolder(), bucket], {
    stdout: "pipe",
    stderr: "inherit",
  });
  const stop = async (): Promise<void> => {
    child.kill();
    await child.exited;
  };
  afterAll(stop);
  const { value } = await child.stdout.getReader().read();
  if (value === undefined) throw new Error("s3rver did not start; is Node.js installed, and was npm ci run?");
  return { endpoint: new TextDecoder().decode(value).trim(), stop };
}
