/**
 * The worker thread that copies the write-ahead log into the database file, so that the event loop never waits for
 * it. First message: the path of the database. Each later message asks for one checkpoint and is answered by a
 * `CheckpointResult`, or by an `Error`.
 */
import { Connection } from "./connection.ts";

declare const self: Worker;

/** Counts are pages; `log` is -1 when there is no log. */
export interface CheckpointResult {
  busy: number;
  log: number;
  checkpointed: number;
}

let connection: Connection | null = null;

self.onmessage = (event: MessageEvent<string>) => {
  try {
    if (connection === null) {
      connection = new Connection(event.data, { readonly: false });
      connection.execute("PRAGMA synchronous = NORMAL");
      connection.execute("PRAGMA wal_autocheckpoint = 0");
      return;
    }
    self.postMessage(connection.get<CheckpointResult>("PRAGMA wal_checkpoint(PASSIVE)"));
  } catch (thrown) {
    self.postMessage(thrown instanceof Error ? thrown : new Error(String(thrown)));
  }
};
