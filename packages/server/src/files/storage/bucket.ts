/** A bucket of an S3-compatible store: objects under a prefix, with errors that name the store and the cause. */
import type { S3Client } from "bun";
import { isObject, messageOf, SetupError } from "../../base/kernel/index.ts";
import type { ByteRange, FileBody, S3Keys } from "./driver.ts";

export interface BucketObject {
  /** The key without the prefix of the bucket. */
  readonly name: string;
  readonly size: number;
  /** Milliseconds since 1970. */
  readonly modifiedAt: number;
}

/** The message of Bun 1.4 for every store that does not answer as a store does. */
const meaningless = "an unexpected error has occurred";

export function isBucket(address: string): boolean {
  return address.startsWith("s3://");
}

/** The parts of `s3://BUCKET/PREFIX`; the prefix is "" or ends in a slash. */
export function partsOf(address: string): { bucket: string; prefix: string } {
  const [, bucket = "", path = ""] = /^s3:\/\/([^/]+)\/?(.*)$/.exec(address) ?? [];
  return { bucket, prefix: path === "" || path.endsWith("/") ? path : `${path}/` };
}

/** The keys of the store. @throws SetupError for missing keys. */
export function keysFor(
  address: string,
  { accessKeyId, secretAccessKey }: S3Keys,
): { accessKeyId: string; secretAccessKey: string } {
  if (accessKeyId !== undefined && secretAccessKey !== undefined)
    return { accessKeyId, secretAccessKey: secretAccessKey.reveal() };
  throw new SetupError(`${address}: needs s3.accessKeyId and s3.secretAccessKey (SERVICE_S3_SECRET_ACCESS_KEY)`);
}

/** The code of an error of the store; "" for any other error. */
export function storeCode(thrown: unknown): string {
  return isObject(thrown) && typeof thrown["code"] === "string" ? thrown["code"] : "";
}

/** Errors that are mistakes, and stay. A store may be away for a while, with other errors. */
export const mistakes: readonly string[] = [
  "NoSuchBucket",
  "AccessDenied",
  "InvalidAccessKeyId",
  "SignatureDoesNotMatch",
  "ERR_S3_INVALID_ENDPOINT",
];

/** Errors of a store that could not answer at this moment: S3 asks its clients to send the request again. */
const passing: readonly string[] = ["InternalError", "SlowDown", "ServiceUnavailable"];
/** How often a request is sent, and the pause before the second time; the pause before the third is twice as long. */
const attempts = 3;
const pauseMs = 200;

export class Bucket {
  readonly #address: string;
  readonly #prefix: string;
  readonly #client: S3Client;

  /** @param address `s3://BUCKET/FOLDER`. @throws SetupError without keys. */
  constructor(address: string, keys: S3Keys) {
    const { bucket, prefix } = partsOf(address);
    const { endpoint, region } = keys;
    this.#address = address;
    this.#prefix = prefix;
    this.#client = new Bun.S3Client({
      bucket,
      ...keysFor(address, keys),
      ...(endpoint === undefined ? {} : { endpoint }),
      ...(region === undefined ? {} : { region }),
    });
  }

  async write(name: string, content: Blob | string): Promise<void> {
    await this.#ask(() => this.#client.write(this.#prefix + name, content));
  }

  /** Null for an object that does not exist. */
  async find(name: string): Promise<BucketObject | null> {
    try {
      const { size, lastModified } = await this.#ask(() => this.#client.file(this.#prefix + name).stat());
      return { name, size, modifiedAt: lastModified.getTime() };
    } catch (thrown) {
      if (storeCode(thrown) === "NoSuchKey") return null;
      throw thrown;
    }
  }

  /** The bytes of an existing object, or a part of the bytes. */
  async read(name: string, range: ByteRange | null): Promise<FileBody> {
    const file = this.#client.file(this.#prefix + name);
    if (range === null) return file.stream();
    // For the first byte alone, Bun 1.4 asks for everything; for the first two, for two.
    if (range.start === 0 && range.end === 1)
      return new Blob([(await this.#ask(() => file.slice(0, 2).bytes())).slice(0, 1)]);
    return file.slice(range.start, range.end).stream();
  }

  /** An object as a blob that is read from the store piece by piece. */
  blob(name: string): Blob {
    return this.#client.file(this.#prefix + name);
  }

  /** The objects in the order of the names, behind the name `after`. */
  async *list(after?: string): AsyncIterable<BucketObject> {
    let startAfter = after === undefined ? undefined : this.#prefix + after;
    do {
      const from = startAfter === undefined ? {} : { startAfter };
      const page = await this.#ask(() => this.#client.list({ prefix: this.#prefix, ...from }));
      const contents = page.contents ?? [];
      for (const { key, size = 0, lastModified = "" } of contents)
        yield { name: key.slice(this.#prefix.length), size, modifiedAt: Date.parse(lastModified) };
      startAfter = page.isTruncated === true ? contents.at(-1)?.key : undefined;
    } while (startAfter !== undefined);
  }

  /** The first name behind the name `after`; null for no name. The store refuses wrong keys with a code. */
  async next(after: string): Promise<string | null> {
    const options = { prefix: this.#prefix, startAfter: this.#prefix + after, maxKeys: 1 };
    const { contents = [] } = await this.#ask(() => this.#client.list(options));
    return contents[0]?.key.slice(this.#prefix.length) ?? null;
  }

  async remove(name: string): Promise<void> {
    await this.#ask(() => this.#client.delete(this.#prefix + name));
  }

  /** Sends a request, again after a passing error. An error keeps the code, and the message says which store does not answer. */
  async #ask<T>(request: () => Promise<T>): Promise<T> {
    for (let attempt = 1; ; attempt++)
      try {
        return await request();
      } catch (thrown) {
        if (attempt === attempts || !passing.includes(storeCode(thrown))) throw this.#clearly(thrown);
        await Bun.sleep(pauseMs * attempt);
      }
  }

  #clearly(thrown: unknown): unknown {
    const code = storeCode(thrown);
    if (messageOf(thrown) !== meaningless || code === "") return thrown;
    // A refusal of a HEAD has no body, and so no code.
    const message =
      code === "UnknownError"
        ? "refuses the request: check the keys, their rights, and the name of the bucket"
        : `does not answer (${code})`;
    return Object.assign(new Error(`${this.#address} ${message}`, { cause: thrown }), { code });
  }
}
