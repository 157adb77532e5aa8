/** S3 driver: keeps files in a bucket of an S3-compatible store. */
import { mkdirSync } from "node:fs";
import { rm } from "node:fs/promises";
import type { S3Client } from "bun";
import { Gate, isObject, messageOf, type Secret, SetupError } from "../kernel/index.ts";
import type { Logger } from "../logging/index.ts";
import type { ByteRange, FileBody, StorageDriver } from "./driver.ts";

export interface S3Options {
  bucket: string;
  /** Before each id; "" or ending in a slash. */
  prefix: string;
  /** `https://…`; undefined is AWS. */
  endpoint: string | undefined;
  region: string | undefined;
  accessKeyId: string | undefined;
  secretAccessKey: Secret | undefined;
  workFolder: string;
  logger: Logger;
}

/** Files that are sent to the store at a time: each may be held in memory while it is. */
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

function codeOf(thrown: unknown): string {
  return isObject(thrown) && typeof thrown["code"] === "string" ? thrown["code"] : "";
}

export class S3Driver implements StorageDriver {
  readonly workFolder: string;
  readonly #options: S3Options;
  readonly #client: S3Client;
  readonly #puts = new Gate(maxPuts);

  constructor(options: S3Options) {
    this.#options = options;
    this.workFolder = options.workFolder;
    const { bucket, endpoint, region, accessKeyId, secretAccessKey } = options;
    this.#client = new Bun.S3Client({
      bucket,
      ...(endpoint === undefined ? {} : { endpoint }),
      ...(region === undefined ? {} : { region }),
      ...(accessKeyId === undefined ? {} : { accessKeyId }),
      ...(secretAccessKey === undefined ? {} : { secretAccessKey: secretAccessKey.reveal() }),
    });
  }

  async open(): Promise<void> {
    const where = `storage s3://${this.#options.bucket}`;
    try {
      mkdirSync(this.workFolder, { recursive: true });
    } catch (thrown) {
      throw new SetupError(`${where}: the folder for uploads cannot be made: ${messageOf(thrown)}`);
    }
    const probe = `${this.#options.prefix}.probe`;
    const tried = this.#client.write(probe, "").then(() => this.#client.delete(probe));
    const failure = await Promise.race([
      tried.then(
        () => null,
        (thrown: unknown) => thrown,
      ),
      Bun.sleep(probeMs).then(() => new Error(`no answer within ${probeMs / 1_000} s`)),
    ]);
    if (failure === null) return;
    const code = codeOf(failure);
    if (code === "ERR_S3_MISSING_CREDENTIALS")
      throw new SetupError(`${where}: needs s3.accessKeyId and s3.secretAccessKey (SERVICE_S3_SECRET_ACCESS_KEY)`);
    if (mistakes.includes(code)) throw new SetupError(`${where}: cannot be written: ${messageOf(failure)} (${code})`);
    const endpoint = this.#options.endpoint ?? "AWS";
    const reason = code === "" ? messageOf(failure) : code;
    this.#options.logger.warn(`${where}: does not answer; uploads and downloads fail until it does`, {
      endpoint,
      reason,
    });
  }

  async put(id: string, path: string): Promise<void> {
    await this.#puts.run(() => this.#client.write(this.#key(id), Bun.file(path)));
    await rm(path, { force: true });
  }

  async read(id: string, range: ByteRange | null): Promise<FileBody | null> {
    const file = this.#client.file(this.#key(id));
    if (!(await file.exists())) return null;
    if (range === null) return file.stream();
    // Of the first byte alone, Bun 1.4 asks for everything; of the first two, for two.
    if (range.start === 0 && range.end === 1) return new Blob([(await file.slice(0, 2).bytes()).slice(0, 1)]);
    return file.slice(range.start, range.end).stream();
  }

  async size(id: string): Promise<number | null> {
    const file = this.#client.file(this.#key(id));
    return (await file.exists()) ? (await file.stat()).size : null;
  }

  async *list(): AsyncIterable<string> {
    const { prefix } = this.#options;
    let startAfter: string | undefined;
    do {
      const page = await this.#client.list({ prefix, ...(startAfter === undefined ? {} : { startAfter }) });
      const keys = page.contents?.map(({ key }) => key) ?? [];
      for (const key of keys) if (!key.slice(prefix.length).includes("/")) yield key.slice(prefix.length);
      startAfter = page.isTruncated === true ? keys.at(-1) : undefined;
    } while (startAfter !== undefined);
  }

  async remove(id: string): Promise<void> {
    await this.#client.delete(this.#key(id));
  }

  #key(id: string): string {
    return `${this.#options.prefix}${id}`;
  }
}
