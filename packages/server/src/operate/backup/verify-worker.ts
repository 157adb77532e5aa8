/** The thread that verifies a backup of a running service, so that the checks of the database hold up no request. */
import { setPriority } from "node:os";
import { ownerChannel } from "../../base/channel/index.ts";
import { Secret } from "../../base/kernel/index.ts";
import type { ManifestHead } from "./archive.ts";
import type { DataPaths } from "./data-paths.ts";
import { sourceOf } from "./target.ts";
import type { Finding } from "./verify.ts";
import { verifyBackup } from "./verify-backup.ts";

interface VerifyRequest {
  /** A path, or an address of a bucket. */
  readonly file: string;
  /** Without the secret key of the store, which stands beside `files` as text: a `Secret` cannot be sent to a thread. */
  readonly files: DataPaths["files"];
  readonly secretKey: string | undefined;
  readonly schemas: ManifestHead["schema"];
  /** The folder of the unpacked database. */
  readonly within: string;
}

/** The messages that the owner of the thread takes. */
export interface ForCheck {
  /** The part of the file that was read, from 0 to 1. */
  progress(part: number): void;
}

const tellEveryMs = 100;

// On Linux the priority is that of the thread alone: requests go first.
if (process.platform === "linux") setPriority(0, 15);

const handlers = {
  /** @throws Error with one line for a backup that is not whole. */
  async verify({ file, files, secretKey, schemas, within }: VerifyRequest): Promise<readonly Finding[]> {
    const secretAccessKey = secretKey === undefined ? undefined : new Secret(secretKey);
    const { source, size } = await sourceOf(file, { files: { ...files, s3: { ...files.s3, secretAccessKey } } });
    let toldAt = performance.now();
    const onProgress = (done: number): void => {
      if (performance.now() - toldAt < tellEveryMs) return;
      toldAt = performance.now();
      owner.tell("progress", done / size);
    };
    const identity = (): Promise<never> => Promise.reject(new Error("it is encrypted"));
    return await verifyBackup({ name: file, source, identity, schemas, onProgress }, within);
  },
};
export type VerifyHandlers = typeof handlers;

const owner = ownerChannel<ForCheck, VerifyHandlers>(handlers);
