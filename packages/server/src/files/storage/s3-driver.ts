/** S3 driver: keeps files in a bucket of an S3-compatible store. */
import { mkdirSync } from "node:fs";
import { rm } from "node:fs/promises";
import { Admission, messageOf, SetupError } from "../../base/kernel/index.ts";
import { Bucket, partsOf, storeCode } from "./bucket.ts";
import type { ByteRange, DriverOptions, FileBody, StorageDriver } from "./driver.ts";

/** Files that are sent to the store at a time: each may be held in memory meanwhile. */
const maxPuts = 4;
/** How long a start waits for a store that does not answer. */
const probeMs = 5_000;

/** A store may be away for a while; these are mistakes, and do not mend themselves. */
const mistakes = [
  "NoSuchBucket",
  "AccessDenied",
  "InvalidAccessKeyId",
  "SignatureDoesNotMatch",
  "ERR_S3_INVALID_ENDPOINT",
];

export class S3Driver implements StorageDriver {
  readonly workFolder: string;
  readonly #options: DriverOptions;
  readonly #bucket: Bucket;
  readonly #puts = new Admission({ width: maxPuts });

  /** @throws SetupError without keys. */
  constructor(options: DriverOptions) {
    this.#options = options;
    this.workFolder = options.workFolder;
    this.#bucket = new Bucket(options.address, options.s3);
  }

  async open(): Promise<void> {
    const { address, s3, logger } = this.#options;
    const where = `storage s3://${partsOf(address).bucket}`;
    try {
      mkdirSync(this.workFolder, { recursive: true });
    } catch (thrown) {
      throw new SetupError(`${where}: the folder for uploads cannot be made: ${messageOf(thrown)}`);
    }
    const failure = await Promise.race([
      this.#probe(),
      Bun.sleep(probeMs).then(() => new Error(`no answer within ${probeMs / 1_000} s`)),
    ]);
    if (failure === null) return;
    const code = storeCode(failure);
    if (mistakes.includes(code)) throw new SetupError(`${where}: cannot be written: ${messageOf(failure)} (${code})`);
    logger.warn(`${where}: does not answer; uploads and downloads fail until it does`, {
      endpoint: s3.endpoint ?? "AWS",
      reason: code === "" ? messageOf(failure) : code,
    });
  }

  async put(id: string, path: string): Promise<void> {
    await this.#puts.run(() => this.#bucket.write(id, Bun.file(path)));
    await rm(path, { force: true });
  }

  async read(id: string, range: ByteRange | null): Promise<FileBody | null> {
    if ((await this.#bucket.find(id)) === null) return null;
    return this.#bucket.read(id, range);
  }

  async size(id: string): Promise<number | null> {
    return (await this.#bucket.find(id))?.size ?? null;
  }

  async *list(): AsyncIterable<string> {
    for await (const { name } of this.#bucket.list()) if (!name.includes("/")) yield name;
  }

  async remove(id: string): Promise<void> {
    await this.#bucket.remove(id);
  }

  /** Why nothing can be written; null when all is well. */
  async #probe(): Promise<unknown> {
    try {
      await this.#bucket.write(".probe", "");
      await this.#bucket.remove(".probe");
      return null;
    } catch (thrown) {
      return thrown;
    }
  }
}
