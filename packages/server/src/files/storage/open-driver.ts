/** Opening of the storage driver that the configuration asks for. */
import type { Logger } from "../../base/logging/index.ts";
import { isBucket, type S3Keys } from "./bucket.ts";
import type { StorageDriver } from "./driver.ts";
import { LocalDriver } from "./local-driver.ts";

export interface DriverOptions {
  /** A folder, or `s3://BUCKET/PREFIX`. */
  address: string;
  /** For uploads that are not whole yet, when the files themselves are in a bucket. */
  workFolder: string;
  s3: S3Keys;
  logger: Logger;
}

/** The driver for an address; the driver of buckets is loaded on demand. @throws SetupError for missing keys. */
export async function openDriver(options: DriverOptions): Promise<StorageDriver> {
  if (!isBucket(options.address)) return new LocalDriver(options.address);
  const { S3Driver } = await import("./s3-driver.ts");
  return new S3Driver(options);
}
