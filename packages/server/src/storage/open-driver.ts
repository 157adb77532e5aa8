/** Opening of the storage driver that the configuration asks for. */
import type { Secret } from "../kernel/index.ts";
import type { Logger } from "../logging/index.ts";
import type { StorageDriver } from "./driver.ts";
import { LocalDriver } from "./local-driver.ts";

export interface DriverOptions {
  /** A folder, or `s3://bucket/prefix`. */
  address: string;
  /** For uploads that are not whole yet, when the files themselves are in a bucket. */
  workFolder: string;
  s3: {
    endpoint: string | undefined;
    region: string | undefined;
    accessKeyId: string | undefined;
    secretAccessKey: Secret | undefined;
  };
  logger: Logger;
}

const s3Pattern = /^s3:\/\/([^/]+)\/?(.*)$/;

/** The driver for an address. The one for S3 is loaded only when it is used. */
export async function openDriver({ address, workFolder, s3, logger }: DriverOptions): Promise<StorageDriver> {
  const [, bucket, path = ""] = s3Pattern.exec(address) ?? [];
  if (bucket === undefined) return new LocalDriver(address);
  const { S3Driver } = await import("./s3-driver.ts");
  const prefix = path === "" || path.endsWith("/") ? path : `${path}/`;
  return new S3Driver({ bucket, prefix, ...s3, workFolder, logger });
}
