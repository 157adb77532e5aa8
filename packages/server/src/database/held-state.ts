/**
 * A held state: the database file, as one commit left it, while writes go on into the write-ahead log.
 *
 * In WAL mode the database file changes in checkpoints alone, and SQLite lets no checkpoint, of any process, go beyond
 * the state of a reader. So: (1) a connection begins to read, and with it holds the state of the last commit; (2) the
 * log up to that commit is copied into the file; (3) from then on nothing changes the file until the reader ends.
 */
import { AppError } from "../kernel/index.ts";
import type { CheckpointResult } from "./checkpoint-worker.ts";
import type { Checkpointer } from "./checkpointer.ts";
import { Connection } from "./connection.ts";

/** How long another reader may keep the file from reaching the state. */
const settleMs = 60_000;
const againMs = 50;
/** Another process may commit while the state is chosen; then another one is. */
const maxTries = 100;

export interface HeldState {
  /** A descriptor of the database file. Whoever reads from it must not close it. */
  readonly file: number;
  /**
   * Bytes of the state. Where the file is shorter, pages at its end hold nothing and were never written: a copy has
   * zeros there.
   */
  readonly size: number;
  /** The file may change again. A second call does nothing. */
  release(): void;
}

function open(path: string): Connection {
  const connection = new Connection(path, { readonly: false });
  connection.execute("PRAGMA busy_timeout = 5000");
  connection.execute("PRAGMA wal_autocheckpoint = 0");
  return connection;
}

function lookAt(connection: Connection): CheckpointResult {
  const result = connection.get<CheckpointResult>("PRAGMA wal_checkpoint(NOOP)");
  if (result === null) throw new Error("The state of the write-ahead log could not be read");
  return result;
}

/** Begins to read; answers the state of the log in that moment. */
function begin(reader: Connection, watcher: Connection): CheckpointResult {
  for (let tries = 0; tries < maxTries; tries++) {
    const before = lookAt(watcher);
    reader.run("BEGIN");
    reader.get("SELECT 1 FROM sqlite_schema");
    const after = lookAt(watcher);
    if (before.log === after.log) return after;
    reader.run("COMMIT");
  }
  throw new AppError("unavailable", "Another process writes to the database all the time.");
}

/**
 * Holds the state of the last commit.
 * @throws AppError `unavailable` when another reader keeps the file in an older state for a minute.
 */
export async function holdState(options: {
  path: string;
  file: number;
  checkpointer: Checkpointer;
  signal: AbortSignal;
}): Promise<HeldState> {
  const { path, file, checkpointer, signal } = options;
  const connections: Connection[] = [];
  let isHeld = true;
  const release = (): void => {
    if (!isHeld) return;
    isHeld = false;
    for (const connection of connections) connection.close();
    checkpointer.leave();
  };
  checkpointer.rest();
  try {
    // Most of the log, so that little is left for the time in which the state is held.
    await checkpointer.checkpoint();
    const [reader, watcher] = [open(path), open(path)];
    connections.push(reader, watcher);
    const { log: end, checkpointed } = begin(reader, watcher);
    const until = performance.now() + settleMs;
    for (let copied = checkpointed; copied < end; copied = lookAt(watcher).checkpointed) {
      signal.throwIfAborted();
      if (performance.now() > until)
        throw new AppError("unavailable", "Another reader keeps the database file in an older state.");
      await checkpointer.checkpoint();
      if (lookAt(watcher).checkpointed < end) await Bun.sleep(againMs);
    }
    const pages = reader.get<{ page_count: number }>("PRAGMA page_count")?.page_count ?? 0;
    const pageSize = reader.get<{ page_size: number }>("PRAGMA page_size")?.page_size ?? 0;
    return { file, size: pages * pageSize, release };
  } catch (thrown) {
    release();
    throw thrown;
  }
}
