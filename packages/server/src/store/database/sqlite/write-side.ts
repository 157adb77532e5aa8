/** Write side: the parts that only the process has that writes the database: the lock, the writer, the checkpoints and the reserve. */
import type { Logger } from "../../../base/logging/index.ts";
import type { ReadOnly } from "../read-only.ts";
import type { Projection } from "../transaction.ts";
import { Checkpointer } from "./checkpointer.ts";
import type { SnapshotReader } from "./connection.ts";
import { Flusher, flushOf, type SqliteMeter } from "./flush.ts";
import { addFunctions } from "./functions.ts";
import type { HoldOptions } from "./held-state.ts";
import { DatabaseLock, openDescriptor, openWriter } from "./open-file.ts";
import { Reserve } from "./reserve.ts";
import { ThreadConnection } from "./thread-connection.ts";
import { warnOfUnrecoveredFrames } from "./unrecovered-frames.ts";
import { Writer } from "./writer.ts";

export interface WriteSideOptions {
  logger: Logger;
  /**
   * Called once when a flush has failed, or when the file no longer belongs to this service: the database refuses all
   * work from then on, and the process should end.
   */
  onFatal: (error: unknown) => void;
  /** Called once, after the lock is taken and before the file is opened: repairs what an interrupted command has left. */
  onLocked?: () => void;
  /** Bytes of the write-ahead log at which writes begin to wait for the log (`limits.wal`). Default 64 MiB. */
  logLimit?: number;
  /** Whether room on the disk is reserved for changes of admins that make room. Default false. */
  hasReserve?: boolean;
  /** Replaces the flush of the log, for a test of the failure. */
  sync?: (() => Promise<void>) | undefined;
}

interface WriteSideParts extends WriteSideOptions {
  readonly path: string;
  /** Called for each row that a stop probe of a transaction meets. */
  readonly onProbe: () => void;
  /** Takes the ends of the opened parts; the owner runs the ends in reverse order. */
  readonly closers: (() => void)[];
}

export interface WriteSide {
  readonly writer: Writer;
  readonly checkpointer: Checkpointer;
  readonly holdOptions: HoldOptions;
  /** Call `close` after the writer is closed. */
  close(): Promise<void>;
}

/**
 * Opens the file, and makes a missing file.
 * @returns opens the writer, once; the reader needs the file.
 * @throws SetupError when the file cannot be used.
 */
export function openWriteSide(
  parts: WriteSideParts,
): (reader: SnapshotReader, state: { meter: SqliteMeter; projection: Projection; readOnly: ReadOnly }) => WriteSide {
  const { path, logger, onFatal, closers, sync, hasReserve, logLimit = 64 * 1024 ** 2 } = parts;
  const lock = new DatabaseLock(path);
  closers.push(() => lock.close());
  parts.onLocked?.();
  warnOfUnrecoveredFrames(path, logger);
  const connection = openWriter(path);
  closers.push(() => connection.close());
  addFunctions(connection, parts.onProbe);
  return (reader, { meter, projection, readOnly }) => {
    const { file: logFile, close: closeLog } = openDescriptor(path, "-wal");
    closers.push(closeLog);
    const { file, close } = openDescriptor(path, "");
    // The last part to close: see `openDescriptor`.
    closers.unshift(close);
    const checkpointer = new Checkpointer({ path, file, writer: connection, limit: logLimit, logger });
    const reserve = hasReserve === true ? new Reserve({ path, logger, connection }) : null;
    const flusher = new Flusher(sync ?? flushOf(path, logFile), meter);
    const openThread = (): ThreadConnection => new ThreadConnection(path);
    const shared = { connection, flusher, checkpointer, reader, openThread, onFatal, meter, projection, readOnly };
    const writer = new Writer({ ...shared, logger, reserve });
    lock.watch({ file, log: logFile, logger, onLost: (error) => writer.refuse(error) });
    return {
      writer,
      checkpointer,
      holdOptions: { path, file, logFile, checkpointer },
      async close() {
        await reserve?.close();
        await checkpointer.close();
      },
    };
  };
}
