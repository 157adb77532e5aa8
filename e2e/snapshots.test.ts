/** A snapshot of a cluster and the commands of the executable: restored and verified like a backup, from the bucket. */
import { afterAll, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { dataPathsOf, knownSchemas } from "../packages/server/src/app/index.ts";
import { type Snapshot, Snapshots } from "../packages/server/src/operate/backup/index.ts";
import { openFiles } from "../packages/server/test/files.ts";
import { quietLogger } from "../packages/server/test/kit.ts";
import { bucket, s3Key, startS3 } from "../packages/server/test/s3-server.ts";
import { project, serve, socle } from "./kit.ts";

// A service in this process sets the umask, which would make the files of other tests private, too.
const umask = process.umask();
afterAll(() => {
  process.umask(umask);
});

const s3 = await startS3();
const env = {
  SERVICE_S3_ENDPOINT: s3.endpoint,
  SERVICE_S3_REGION: "us-east-1",
  SERVICE_S3_ACCESS_KEY_ID: s3Key,
  SERVICE_S3_SECRET_ACCESS_KEY: s3Key,
};
const storage = `s3://${bucket}/files`;
const files = await openFiles({ ...env, SERVICE_STORAGE: storage });
const id = await files.store("kept in the bucket");
const paths = dataPathsOf(files.config);
const options = { version: "test", schemas: knownSchemas, maxLog: 1024 ** 3, logger: quietLogger() };
const place = { address: `${storage}/.snapshots`, work: "", encryption: null };
const snapshots = new Snapshots({ ...options, ...place, paths });
const { name }: Snapshot = await snapshots.put(files.service.database, "", new AbortController());
const address = `${storage}/.snapshots/${name}`;

test("socle verify and socle restore take a snapshot, and the service has the files of the bucket", async () => {
  const cwd = await project();
  const here = { cwd, env: { ...env, SERVICE_STORAGE: storage } };
  const verified = await socle(["verify", address], here);
  expect(verified.stdout).toContain("1 file in the storage, not in the backup");
  expect([verified.code, verified.stdout.includes("whole")]).toEqual([0, false]);
  const { code, stdout } = await socle(["restore", address], here);
  expect(code).toBe(0);
  const line = `The files were not in the backup, and must be in storage (${storage})\n`;
  expect(stdout).toContain(line);
  const again = await socle(["restore", address], here);
  expect([again.code, again.stderr.includes("holds data already")]).toEqual([2, true]);
  const server = await serve(cwd, here);
  expect(await (await fetch(`${server.url}/api/storage/${id}`)).text()).toBe("kept in the bucket");
  expect(await server.stop()).toBe(0);
});

test("a folder as storage is a warning, and the database is restored", async () => {
  const cwd = await project();
  const { code, stdout } = await socle(["restore", address], { cwd, env });
  expect(code).toBe(0);
  expect(stdout).toContain(`which is a folder, and lacks ${id}: set storage to the bucket of the files\n`);
  expect(existsSync(join(cwd, "socle.db"))).toBe(true);
  const missing = await socle(["restore", `${address}x`, "--force"], { cwd, env });
  expect([missing.code, missing.stderr.includes("there is no such file")]).toEqual([2, true]);
});
