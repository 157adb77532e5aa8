/** Deleted files of a service with `backup.continuous`: the bytes in a bucket stay, also when a command opens the service beside the backup. */
import { expect, test } from "bun:test";
import { join } from "node:path";
import { openFiles } from "../../../test/files.ts";
import { temporaryFolder } from "../../../test/kit.ts";
import { bucket, s3Key, startS3 } from "../../../test/s3-server.ts";

const s3 = await startS3();
const client = new Bun.S3Client({ endpoint: s3.endpoint, accessKeyId: s3Key, secretAccessKey: s3Key, bucket });

/** Stores a file in the bucket, and deletes the file. Answers whether the bytes stay, at once and after another start of the storage. */
async function deleted(prefix: string, settings: Record<string, string>): Promise<boolean[]> {
  const files = await openFiles({
    SERVICE_STORAGE: `s3://${bucket}/${prefix}`,
    SERVICE_S3_ENDPOINT: s3.endpoint,
    SERVICE_S3_REGION: "us-east-1",
    SERVICE_S3_ACCESS_KEY_ID: s3Key,
    SERVICE_S3_SECRET_ACCESS_KEY: s3Key,
    ...settings,
  });
  const id = await files.store("kept");
  const { status } = await files.request("DELETE", `/api/storage/${id}`, { token: files.token });
  expect(status).toBe(204);
  const isThere = (): Promise<boolean> => client.exists(`${prefix}/${id}`);
  const atOnce = await isThere();
  await files.service.storage.start();
  return [atOnce, await isThere()];
}

test("the bytes of a deleted file stay in the bucket with backup.continuous, also without the process of the backup", async () => {
  expect(await deleted("kept", { SERVICE_BACKUP_CONTINUOUS: join(temporaryFolder(), "live") })).toEqual([true, true]);
  expect(await deleted("plain", {})).toEqual([false, false]);
});
