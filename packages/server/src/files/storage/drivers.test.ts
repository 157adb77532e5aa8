import { describe, expect, test } from "bun:test";
import { readdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { driverSuite } from "../../../test/driver-suite.ts";
import { quietLogger, temporaryFolder } from "../../../test/kit.ts";
import { bucket, s3Key, startS3 } from "../../../test/s3-server.ts";
import { Secret, SetupError } from "../../base/kernel/index.ts";
import { openDriver, type StorageDriver } from "./index.ts";

const noS3 = { endpoint: undefined, region: undefined, accessKeyId: undefined, secretAccessKey: undefined };
const s3 = await startS3();

async function local(address: string): Promise<StorageDriver> {
  return openDriver({ address, workFolder: "unused", s3: noS3, logger: quietLogger() });
}

async function remote(options: { address?: string; endpoint?: string; secret?: string; log?: string[] } = {}) {
  const { address = `s3://${bucket}/some/prefix`, endpoint = s3.endpoint, secret = s3Key, log } = options;
  const keys = { accessKeyId: s3Key, secretAccessKey: new Secret(secret) };
  const workFolder = temporaryFolder();
  return openDriver({ address, workFolder, s3: { ...keys, endpoint, region: "us-east-1" }, logger: quietLogger(log) });
}

describe("a local folder", () => {
  const folder = temporaryFolder();
  driverSuite("local", () => local(folder));

  test("names are made from the id alone", async () => {
    const names = readdirSync(folder, { recursive: true }).map(String);
    expect(names.filter((name) => name.includes("fil_"))).not.toBeEmpty();
    for (const name of names) expect(name).toMatch(/^(\.work|.{2}|.{2}\/fil_suite-[0-9a-f-]{36})$/);
  });

  test("a removal that finds no bytes flushes their folder all the same: a crash may have followed the first removal", async () => {
    const other = temporaryFolder();
    const driver = await local(other);
    await driver.open();
    // A folder that cannot be opened, and so not flushed.
    symlinkSync(join(other, "ab"), join(other, "ab"));
    await expect(driver.remove("fil_ab")).rejects.toMatchObject({ code: "ELOOP" });
    // Without a folder there were never any bytes.
    await driver.remove("fil_cd");
  });

  test("a folder without the right to write stops the start with a single line", async () => {
    const file = join(temporaryFolder(), "file");
    await Bun.write(file, "");
    const failure = await (await local(join(file, "storage"))).open().catch((thrown: unknown) => thrown);
    expect(failure).toBeInstanceOf(SetupError);
    expect(String(failure)).toMatch(/storage .*file\/storage: cannot be written: [^\n]+$/);
  });
});

describe("an S3 server", () => {
  driverSuite("S3", () => remote());
  driverSuite("S3 without a prefix", () => remote({ address: `s3://${bucket}` }));

  test("a missing bucket stops the start with a single line", async () => {
    const failure = await (await remote({ address: "s3://nowhere" })).open().catch((thrown: unknown) => thrown);
    expect(failure).toBeInstanceOf(SetupError);
    expect(String(failure)).toMatch(/storage s3:\/\/nowhere: cannot be written: .*bucket.*\(NoSuchBucket\)$/);
  });

  test("every call to a server that does not respond fails with the address of the server", async () => {
    const driver = await remote({ endpoint: "http://127.0.0.1:9" });
    const upload = join(temporaryFolder(), "upload");
    await Bun.write(upload, "content");
    const calls = [
      () => driver.put("fil_a", upload),
      () => driver.read("fil_a", null),
      () => driver.size("fil_a"),
      () => Array.fromAsync(driver.list()),
      () => driver.remove("fil_a"),
    ];
    for (const call of calls)
      await expect(Promise.resolve(call())).rejects.toMatchObject({
        message: `s3://${bucket}/some/prefix does not answer (ConnectionRefused)`,
        code: "ConnectionRefused",
      });
  });

  test("a server that does not respond is a warning: the rest of the service works", async () => {
    const log: string[] = [];
    await (await remote({ endpoint: "http://127.0.0.1:9", log })).open();
    expect(log).toEqual([expect.stringMatching(/^WARN storage s3:\/\/socle-test: does not respond/)]);
  });
});
