/**
 * A held state: the database file and the beginning of its log, which together contain the state of one commit, while
 * writes go on at the end of the log.
 *
 * Copies of both files equal the files after a crash at that moment, and SQLite's own recovery restores the state. As
 * long as a connection reads, (1) the log does not start over, so the content stays; (2) checkpoints of any process copy
 * nothing newer than the state of the reader, so the beginning of the log contains each page that changes in the file.
 *
 * The file alone is not the state, even if a checkpoint says that the log was copied up to that state: a checkpoint
 * skips each page that occurs again later in the log.
 */
import { fstatSync } from "node:fs";
import type { Checkpointer } from "./checkpointer.ts";
import { Connection } from "./connection.ts";
import type { CheckpointResult } from "./thread-server.ts";

/** Bytes of a file that the database has opened: read the bytes through the descriptor, which stays open. */
interface HeldBytes {
  readonly file: number;
  readonly size: number;
}

/** The state of the database at one moment, for a copy. */
export interface HeldState {
  readonly database: HeldBytes;
  /** Null if the file alone is the state. `pages` counts the pages in the bytes; a page may occur several times. */
  readonly log: (HeldBytes & { readonly pages: number }) | null;
  /** The file may change again. A second call has no effect. */
  release(): void;
}

/** Sizes in the file format of the log, in bytes. */
const logHeader = 32;
const pageHeader = 24;

/** Looks at the log on a separate connection: SQLite does not let a reading connection look. */
function lookAt(path: string): CheckpointResult {
  const connection = new Connection(path, { readonly: false });
  try {
    connection.execute("PRAGMA busy_timeout = 5000");
    const result = connection.get<CheckpointResult>("PRAGMA wal_checkpoint(NOOP)");
    if (result === null) throw new Error("The state of the write-ahead log could not be read");
    return result;
  } finally {
    connection.close();
  }
}

export interface HoldOptions {
  path: string;
  /** Descriptors of the database file and of its log. */
  file: number;
  logFile: number;
  checkpointer: Checkpointer;
}

/** Holds the state of the last commit. */
export async function holdState({ path, file, logFile, checkpointer }: HoldOptions): Promise<HeldState> {
  let reader: Connection | null = null;
  let isHeld = true;
  const release = (): void => {
    if (!isHeld) return;
    isHeld = false;
    reader?.close();
    checkpointer.leave();
  };
  checkpointer.rest();
  try {
    // If no caller writes, the file alone is the state after this checkpoint.
    await checkpointer.checkpoint();
    reader = new Connection(path, { readonly: true });
    reader.run("BEGIN");
    reader.get("SELECT 1 FROM sqlite_schema");
    const pageSize = reader.get<{ page_size: number }>("PRAGMA page_size")?.page_size ?? 0;
    const { log: pages, checkpointed } = lookAt(path);
    const log = { file: logFile, size: logHeader + pages * (pageHeader + pageSize), pages };
    const { size } = fstatSync(file);
    return { database: { file, size }, log: checkpointed === pages ? null : log, release };
  } catch (thrown) {
    release();
    throw thrown;
  }
}
