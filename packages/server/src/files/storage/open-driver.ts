/** Opening of the storage driver that the configuration asks for. */
import { isBucket } from "./bucket.ts";
import type { DriverOptions, StorageDriver } from "./driver.ts";
import { LocalDriver } from "./local-driver.ts";

/** The driver for an address; the driver of buckets is loaded on demand. @throws SetupError for missing keys. */
export async function openDriver(options: DriverOptions): Promise<StorageDriver> {
  if (!isBucket(options.address)) return new LocalDriver(options.address);
  const { S3Driver } = await import("./s3-driver.ts");
  return new S3Driver(options);
}
