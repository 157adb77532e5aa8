/** `@socle/client/storage`: the files of the service. */
import { type Requesting, requestsOf } from "../requests.ts";
import { StorageClient } from "../storage.ts";
import type { CallOptions } from "../transport.ts";

export type { DeviceFile, UploadOptions } from "../storage.ts";
export { StorageClient } from "../storage.ts";

/** The files: `storage(socle).upload(file)`. With a signal, the signal aborts every call. */
export function storage(client: Requesting, options?: CallOptions): StorageClient {
  return new StorageClient(requestsOf(client, options));
}
