/** A real S3 server (the npm package s3rver) on loopback, in a process of its own. */
import { afterAll } from "bun:test";
import { join } from "node:path";
import { temporaryFolder } from "./kit.ts";

export const bucket = "socle-test";
/** The keys that s3rver knows. */
export const s3Key = "S3RVER";

const script = `
const S3rver = require("s3rver");
new S3rver({ port: 0, address: "127.0.0.1", silent: true, directory: process.argv[1], configureBuckets: [{ name: "${bucket}" }] })
  .run()
  .then(({ port }) => console.log("http://127.0.0.1:" + port));
`;

/** Starts it with an empty bucket; answers its address. It is stopped after the file's tests. */
export async function startS3(): Promise<{ endpoint: string; stop: () => Promise<void> }> {
  const child = Bun.spawn(["node", "-e", script, temporaryFolder()], {
    cwd: join(import.meta.dir, ".."),
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
