/** Uploads to a bucket: in parts, or at once if no object has the name. */
import { AwsClient } from "aws4fetch";
import { messageOf } from "../../base/kernel/index.ts";
import { keysFor, partsOf, type S3Keys } from "../../files/storage/index.ts";
import type { BackupOptions } from "./make-backup.ts";

const leastPart = 8 * 1_024 ** 2;
/** A store takes no more parts than this number. */
const maxParts = 10_000;
const tries = 5;
const firstPauseMs = 250;
/** The longest time of a request: a part of 8 MiB over 28 KB/s. A store that takes the bytes and never answers holds no upload for ever. */
const requestMs = 300_000;

export type Sending = Pick<BackupOptions, "signal" | "onProgress">;

/** An upload that has begun. A further try sends the missing parts. */
interface OpenUpload {
  readonly id: string;
  readonly partBytes: number;
  /** The tags of the parts by number, from 1. */
  readonly tags: Map<number, string>;
}

/** The store does not know the upload, or refuses the request: another try is of no use. */
class StoreError extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/** The signal of a request: of the work, and of the longest time. */
function bounded(signal: AbortSignal): AbortSignal {
  return AbortSignal.any([signal, AbortSignal.timeout(requestMs)]);
}

function tagOf(xml: string, name: string): string | null {
  return new RegExp(`<${name}>([^<]*)</${name}>`).exec(xml)?.[1] ?? null;
}

export class PartUploads {
  /** As written in the configuration: `s3://BUCKET/FOLDER`. */
  readonly #address: string;
  readonly #signer: AwsClient;
  /** The address of the objects, with a slash at the end. */
  readonly #base: string;
  readonly #uploads = new Map<string, OpenUpload>();

  /** @throws SetupError without keys. */
  constructor(address: string, keys: S3Keys) {
    const { bucket, prefix } = partsOf(address);
    const { endpoint, region = "us-east-1" } = keys;
    this.#address = address;
    this.#signer = new AwsClient({ ...keysFor(address, keys), service: "s3", region, retries: 0 });
    const store = (endpoint ?? `https://s3.${region}.amazonaws.com`).replace(/\/+$/, "");
    this.#base = `${store}/${bucket}/${prefix.split("/").map(encodeURIComponent).join("/")}`;
  }

  /** Gives up an upload that may have begun. */
  async abandon(name: string): Promise<void> {
    const upload = this.#uploads.get(name);
    this.#uploads.delete(name);
    if (upload === undefined) return;
    await this.#send("DELETE", name, {
      query: { uploadId: upload.id },
      signal: AbortSignal.timeout(requestMs),
    }).catch(() => undefined);
  }

  /** Writes a new object at once. False, if the name has an object, which stays unchanged (RFC 9110, 13.1.2). */
  async create(name: string, body: Uint8Array<ArrayBuffer>, signal: AbortSignal): Promise<boolean> {
    for (let tried = 1; ; tried++)
      try {
        await this.#send("PUT", name, { query: {}, body, headers: { "If-None-Match": "*" }, signal });
        return true;
      } catch (thrown) {
        const status = thrown instanceof StoreError ? thrown.status : null;
        if (status === 412) return false;
        // Another write of the name is under way, and may fail: the store asks for another try.
        if (status !== 409 || tried === tries)
          throw new Error(`${this.#address} does not take ${name}: ${messageOf(thrown)}`);
        await Bun.sleep(firstPauseMs);
      }
  }

  /** Uploads a file in parts, each tried five times. The next call for this name sends the parts that are missing. */
  async upload(name: string, file: Blob, { signal, onProgress }: Sending): Promise<void> {
    try {
      const { id, partBytes, tags } = await this.#begin(name, file.size, bounded(signal));
      const parts = Math.max(1, Math.ceil(file.size / partBytes));
      for (let part = 1; part <= parts; part++) {
        signal.throwIfAborted();
        if (!tags.has(part)) {
          const bytes = await file.slice((part - 1) * partBytes, part * partBytes).bytes();
          const query = { partNumber: String(part), uploadId: id };
          const put = (): Promise<Response> => this.#send("PUT", name, { query, body: bytes, signal: bounded(signal) });
          const { headers } = await this.#persist(put, signal);
          tags.set(part, headers.get("etag") ?? "");
        }
        onProgress(Math.min(file.size, part * partBytes), file.size);
      }
      const list = [...tags].sort(([a], [b]) => a - b);
      const items = list.map(([part, tag]) => `<Part><PartNumber>${part}</PartNumber><ETag>${tag}</ETag></Part>`);
      const body = `<CompleteMultipartUpload>${items.join("")}</CompleteMultipartUpload>`;
      const complete = (): Promise<Response> =>
        this.#send("POST", name, { query: { uploadId: id }, body, signal: bounded(signal) });
      const answer = await this.#persist(complete, signal);
      // A store may answer 200 at once, and find out later.
      const code = tagOf(await answer.text(), "Code");
      if (code !== null) throw new StoreError(400, code);
      this.#uploads.delete(name);
    } catch (thrown) {
      if (signal.aborted) throw thrown;
      // An upload that the store refuses, or does not know any more, begins anew.
      if (thrown instanceof StoreError && thrown.status < 500) await this.abandon(name);
      throw new Error(`The upload of ${name} to ${this.#address} broke off: ${messageOf(thrown)}`);
    }
  }

  async #begin(name: string, size: number, signal: AbortSignal): Promise<OpenUpload> {
    const open = this.#uploads.get(name);
    if (open !== undefined) return open;
    const answer = await this.#send("POST", name, { query: { uploads: "" }, signal });
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
    {
      query,
      ...init
    }: { query: Record<string, string>; body?: string | Uint8Array<ArrayBuffer> } & Pick<
      RequestInit,
      "headers" | "signal"
    >,
  ): Promise<Response> {
    const url = `${this.#base}${encodeURIComponent(name)}?${new URLSearchParams(query)}`;
    const answer = await this.#signer.fetch(url, { method, ...init });
    if (answer.ok) return answer;
    const code = tagOf(await answer.text(), "Code") ?? `HTTP ${answer.status}`;
    throw new StoreError(answer.status, code);
  }
}
