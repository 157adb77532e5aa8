/**
 * The worker thread that copies the write-ahead log into the database file, so that the event loop never waits for the
 * copy. Each message asks for a checkpoint; the answer is a `CheckpointResult` or an `Error`. The message null ends the thread.
 */
import { fdatasyncSync } from "node:fs";
import { Connection } from "./connection.ts";
import { assertSameFile } from "./open-file.ts";

declare const self: Worker;

export interface CheckpointRequest {
  path: string;
  /** A descriptor of the same file, open for writing. */
  file: number;
}

/** Counts are pages; `log` is -1 when no log exists. */
export interface CheckpointResult {
  busy: number;
  log: number;
  checkpointed: number;
}

let connection: Connection | null = null;

function open(path: string): Connection {
  const opened = new Connection(path, { readonly: false });
  opened.execute("PRAGMA synchronous = NORMAL");
  opened.execute("PRAGMA wal_autocheckpoint = 0");
  return opened;
}

function checkpoint({ path, file }: CheckpointRequest): CheckpointResult | null {
  if (connection === null) {
    assertSameFile(path, file);
    connection = open(path);
  }
  const result = connection.get<CheckpointResult>("PRAGMA wal_checkpoint(PASSIVE)");
  // SQLite flushes the file only in the checkpoint that reaches the end of the log, while the writer waits. Pages
  // copied earlier are flushed here, so that little is left for that moment.
  if (result !== null && result.checkpointed > 0) fdatasyncSync(file);
  return result;
}

self.onmessage = ({ data: request }: MessageEvent<CheckpointRequest | null>) => {
  try {
    if (request === null) {
      // The last connection to close copies the rest of the log and removes the log, so no other connection may be open.
      connection?.close();
      self.postMessage(null);
      return;
    }
    self.postMessage(checkpoint(request));
  } catch (thrown) {
    self.postMessage(thrown instanceof Error ? thrown : new Error(String(thrown)));
  }
};
