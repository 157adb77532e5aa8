/** Backups of a service with files in a bucket: the bucket's files are saved, restored, and compared with the backup. */
import { expect, test } from "bun:test";
import { backUp, emptyPaths, restoreTo } from "../../../test/backups.ts";
import { openFiles } from "../../../test/files.ts";
import { bucket, s3Key, startS3 } from "../../../test/s3-server.ts";
import { dataPathsOf } from "../../app/index.ts";
import { type DataPaths, driverOf } from "./data-paths.ts";
import { verifyData } from "./verify.ts";

const s3 = await startS3();
const files = await openFiles({
  SERVICE_STORAGE: `s3://${bucket}/files`,
  SERVICE_S3_ENDPOINT: s3.endpoint,
  SERVICE_S3_REGION: "us-east-1",
  SERVICE_S3_ACCESS_KEY_ID: s3Key,
  SERVICE_S3_SECRET_ACCESS_KEY: s3Key,
});

async function wrong(paths: DataPaths): Promise<string[]> {
  const findings = await verifyData(paths, { isRepair: false });
  return findings.filter(({ state }) => state === "error").map(({ text }) => text);
}

test("files move from a prefix to another, and lost files there are found", async () => {
  const [first, second] = [await files.store("one"), await files.store(new Uint8Array(100_000).fill(7))];
  expect(await wrong(dataPathsOf(files.config))).toEqual([]);
  const backup = await backUp(files);
  const empty = emptyPaths(files);
  const paths: DataPaths = { ...empty, files: { ...empty.files, address: `s3://${bucket}/restored` } };
  const { head } = await restoreTo(paths, backup);
  expect(head.counts.files).toBe(2);
  expect(await wrong(paths)).toEqual([]);
  const driver = driverOf(paths);
  expect(await new Response(await driver.read(first, null)).text()).toBe("one");
  await driver.remove(second);
  expect(await wrong(paths)).toEqual([expect.stringContaining(`${second} (file.bin): its bytes are missing`)]);
  // A second restore puts the file back; the existing files do not prevent the restore.
  await restoreTo(paths, backup, { force: true });
  expect(await wrong(paths)).toEqual([]);
});
