/** The driver of files: the interface, options, and the shapes of the bytes. */
import type { Secret } from "../../base/kernel/index.ts";
import type { Logger } from "../../base/logging/index.ts";

export interface S3Keys {
  /** `https://…`; undefined is AWS. */
  readonly endpoint: string | undefined;
  readonly region: string | undefined;
  readonly accessKeyId: string | undefined;
  readonly secretAccessKey: Secret | undefined;
}

export interface DriverOptions {
  /** A folder, or `s3://BUCKET/PREFIX`. */
  address: string;
  /** For uploads that are not whole yet, when the files are in a bucket. */
  workFolder: string;
  s3: S3Keys;
  logger: Logger;
}

/** The body of a file, from a driver: Bun sends either form without holding the body in memory. */
export type FileBody = Blob | ReadableStream<Uint8Array>;

/** A part of a file: bytes from `start` up to, but not including, `end`. */
export interface ByteRange {
  readonly start: number;
  readonly end: number;
}

/**
 * Keeps the bytes of each file under the id of the file. Every driver passes the suite in `test/driver-suite.ts`. A
 * driver throws errors unchanged; `Storage` turns errors of drivers into errors for the caller.
 */
export interface StorageDriver {
  /** A folder on this machine for uploads that are not whole yet, and for thumbnails. */
  readonly workFolder: string;

  /** Makes ready and makes sure that files can be written. @throws SetupError with one readable line. */
  open(): Promise<void>;

  /**
   * Takes over a whole file of `workFolder`. Resolves once the file would survive a power cut. After a failure,
   * `remove` cleans up.
   */
  put(id: string, path: string): Promise<void>;

  /** The bytes of a file, or a part of the bytes; null for an id without bytes. */
  read(id: string, range: ByteRange | null): Promise<FileBody | null>;

  /** Bytes of a file; null for an id without bytes. */
  size(id: string): Promise<number | null>;

  /** The ids that have bytes, in no order. */
  list(): AsyncIterable<string>;

  /** Removes the bytes of a file; an id without bytes is fine. */
  remove(id: string): Promise<void>;
}
