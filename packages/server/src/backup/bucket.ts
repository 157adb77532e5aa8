/**
 * A bucket of an S3-compatible store as backups use it: one object at a time, uploaded in parts that survive a broken
 * line.
 */
import { AwsClient } from "aws4fetch";
import type { S3Client } from "bun";
import { messageOf, SetupError } from "../kernel/index.ts";
import type { DataPaths } from "./data-paths.ts";

export type S3Keys = DataPaths["files"]["s3"];

const leastPart = 8 * 1_024 ** 2;
/** A store takes no more parts than these. */
const maxParts = 10_000;
const tries = 5;
const firstPauseMs = 250;

const addressPattern = /^s3:\/\/([^/]+)\/?(.*)$/;

/** An upload that has begun: it goes on with the parts that are missing. */
interface OpenUpload {
  readonly id: string;
  readonly partBytes: number;
  /** By number, from 1. */
  readonly tags: Map<number, string>;
}

/** The store answered that it does not know the upload, or that the request is wrong: trying again is no use. */
class StoreError extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

function tagOf(xml: string, name: string): string | null {
  return new RegExp(`<${name}>([^<]*)</${name}>`).exec(xml)?.[1] ?? null;
}

export class Bucket {
  /** As the configuration writes it. */
  readonly address: string;
  /** Before each name; "" or ending in a slash. */
  readonly #prefix: string;
  readonly #client: S3Client;
  readonly #signer: AwsClient;
  readonly #base: string;
  readonly #uploads = new Map<string, OpenUpload>();

  /** @param options.address `s3://BUCKET/PREFIX`. @throws SetupError without keys. */
  constructor({ address, isFolder, keys }: { address: string; isFolder: boolean; keys: S3Keys }) {
    const [, bucket = "", path = ""] = addressPattern.exec(address) ?? [];
    const { endpoint, region, accessKeyId, secretAccessKey } = keys;
    if (accessKeyId === undefined || secretAccessKey === undefined)
      throw new SetupError(`${address}: needs s3.accessKeyId and s3.secretAccessKey (SERVICE_S3_SECRET_ACCESS_KEY)`);
    const known = { accessKeyId, secretAccessKey: secretAccessKey.reveal() };
    this.address = address;
    this.#prefix = path === "" || path.endsWith("/") || !isFolder ? path : `${path}/`;
    this.#client = new Bun.S3Client({
      bucket,
      ...known,
      ...(endpoint === undefined ? {} : { endpoint }),
      ...(region === undefined ? {} : { region }),
    });
    this.#signer = new AwsClient({ ...known, service: "s3", region: region ?? "us-east-1", retries: 0 });
    this.#base = `${(endpoint ?? `https://s3.${region ?? "us-east-1"}.amazonaws.com`).replace(/\/+$/, "")}/${bucket}`;
  }

  /** An object; it may not be there. */
  file(name: string): Bun.S3File {
    return this.#client.file(this.#prefix + name);
  }

  async list(): Promise<{ name: string; size: number; endedAt: number }[]> {
    const found: { name: string; size: number; endedAt: number }[] = [];
    let startAfter: string | undefined;
    do {
      const page = await this.#client.list({
        prefix: this.#prefix,
        ...(startAfter === undefined ? {} : { startAfter }),
      });
      const contents = page.contents ?? [];
      for (const { key, size = 0, lastModified = "" } of contents)
        found.push({ name: key.slice(this.#prefix.length), size, endedAt: Date.parse(lastModified) });
      startAfter = page.isTruncated === true ? contents.at(-1)?.key : undefined;
    } while (startAfter !== undefined);
    return found;
  }

  async remove(name: string): Promise<void> {
    const upload = this.#uploads.get(name);
    this.#uploads.delete(name);
    if (upload !== undefined)
      await this.#send("DELETE", name, { query: { uploadId: upload.id } }).catch(() => undefined);
    await this.#client.delete(this.#prefix + name);
  }

  /**
   * Uploads a file in parts. Each part is tried five times; uploaded parts stay, and the next call for this name goes
   * on after them.
   */
  async upload(
    name: string,
    file: Blob,
    { signal, onProgress }: { signal: AbortSignal; onProgress: (done: number, total: number) => void },
  ): Promise<void> {
    try {
      const { id, partBytes, tags } = await this.#begin(name, file.size);
      const parts = Math.max(1, Math.ceil(file.size / partBytes));
      for (let part = 1; part <= parts; part++) {
        signal.throwIfAborted();
        if (!tags.has(part)) {
          const bytes = await file.slice((part - 1) * partBytes, part * partBytes).bytes();
          const query = { partNumber: String(part), uploadId: id };
          const { headers } = await this.#persist(() => this.#send("PUT", name, { query, body: bytes }), signal);
          tags.set(part, headers.get("etag") ?? "");
        }
        onProgress(Math.min(file.size, part * partBytes), file.size);
      }
      const list = [...tags].sort(([a], [b]) => a - b);
      const items = list.map(([part, tag]) => `<Part><PartNumber>${part}</PartNumber><ETag>${tag}</ETag></Part>`);
      const body = `<CompleteMultipartUpload>${items.join("")}</CompleteMultipartUpload>`;
      const answer = await this.#persist(() => this.#send("POST", name, { query: { uploadId: id }, body }), signal);
      // A store may answer 200 at once, and find out later.
      const code = tagOf(await answer.text(), "Code");
      if (code !== null) throw new StoreError(400, code);
      this.#uploads.delete(name);
    } catch (thrown) {
      if (signal.aborted) throw thrown;
      // An upload that the store does not know any more begins anew.
      if (thrown instanceof StoreError && thrown.status < 500) this.#uploads.delete(name);
      throw new Error(
        `The upload of ${name} to ${this.address} broke off: ${messageOf(thrown)}. The next backup goes on with it`,
      );
    }
  }

  async #begin(name: string, size: number): Promise<OpenUpload> {
    const open = this.#uploads.get(name);
    if (open !== undefined) return open;
    const answer = await this.#send("POST", name, { query: { uploads: "" } });
    const id = tagOf(await answer.text(), "UploadId");
    if (id === null) throw new StoreError(400, "the store does not begin an upload in parts");
    const upload = { id, partBytes: Math.max(leastPart, Math.ceil(size / maxParts)), tags: new Map() };
    this.#uploads.set(name, upload);
    return upload;
  }

  async #persist(work: () => Promise<Response>, signal: AbortSignal): Promise<Response> {
    for (let tried = 1; ; tried++) {
      try {
        return await work();
      } catch (thrown) {
        const isFinal = thrown instanceof StoreError && thrown.status < 500 && thrown.status !== 429;
        if (isFinal || tried === tries || signal.aborted) throw thrown;
        await Bun.sleep(firstPauseMs * 2 ** (tried - 1));
      }
    }
  }

  async #send(
    method: string,
    name: string,
    { query, body }: { query: Record<string, string>; body?: string | Uint8Array<ArrayBuffer> },
  ): Promise<Response> {
    const key = (this.#prefix + name).split("/").map(encodeURIComponent).join("/");
    const url = `${this.#base}/${key}?${new URLSearchParams(query)}`;
    const answer = await this.#signer.fetch(url, { method, ...(body === undefined ? {} : { body }) });
    if (answer.ok) return answer;
    const code = tagOf(await answer.text(), "Code") ?? `HTTP ${answer.status}`;
    throw new StoreError(answer.status, code);
  }
}

/** An object by its address, `s3://BUCKET/KEY`; null when it is not there. */
export async function objectAt(address: string, keys: S3Keys): Promise<{ blob: Blob; size: number } | null> {
  const object = new Bucket({ address, isFolder: false, keys }).file("");
  try {
    if (!(await object.exists())) return null;
    return { blob: object, size: (await object.stat()).size };
  } catch (thrown) {
    throw new Error(`${address}: cannot be read: ${messageOf(thrown)}`);
  }
}
