/** Write side: the parts that only the process has that writes the database: the lock, the writer, the checkpoints and the reserve. */
import type { SetupError } from "../../../base/kernel/index.ts";
import type { Logger } from "../../../base/logging/index.ts";
import type { Projection } from "../transaction.ts";
import { Checkpointer } from "./checkpointer.ts";
import type { Connection, SnapshotReader } from "./connection.ts";
import { addFunctions } from "./functions.ts";
import type { HoldOptions } from "./held-state.ts";
import { Flusher, flushOf, type SqliteMeter } from "./jobs.ts";
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
  sync?: () => Promise<void>;
}

interface WriteSideParts extends WriteSideOptions {
  readonly path: string;
  /** Called for each row that a stop probe of a transaction meets. */
  readonly onProbe: () => void;
  /** Takes the ends of the opened parts; the owner runs the ends in reverse order. */
  readonly closers: (() => void)[];
}

interface StartedParts {
  readonly writer: Writer;
  readonly checkpointer: Checkpointer;
  readonly holdOptions: HoldOptions;
  readonly reserve: Reserve | null;
}

/** Opened in two steps: the constructor makes a missing file, and `start` needs the reader, which needs the file. */
export class WriteSide {
  readonly #parts: WriteSideParts;
  readonly #lock: DatabaseLock;
  readonly #connection: Connection;
  #started: StartedParts | null = null;

  /** @throws SetupError when the file cannot be used. */
  constructor(parts: WriteSideParts) {
    const { path, logger, closers } = parts;
    this.#parts = parts;
    this.#lock = new DatabaseLock(path);
    closers.push(() => this.#lock.close());
    parts.onLocked?.();
    warnOfUnrecoveredFrames(path, logger);
    const connection = openWriter(path);
    this.#connection = connection;
    closers.push(() => connection.close());
    addFunctions(connection, parts.onProbe);
  }

  /** Opens the writer. Call `start` once. */
  start(reader: SnapshotReader, { meter, projection }: { meter: SqliteMeter; projection: Projection }): void {
    const { path, logger, onFatal, closers, sync, hasReserve, logLimit = 64 * 1024 ** 2 } = this.#parts;
    const connection = this.#connection;
    const { file: logFile, close: closeLog } = openDescriptor(path, "-wal");
    closers.push(closeLog);
    const { file, close } = openDescriptor(path, "");
    // The last part to close: see `openDescriptor`.
    closers.unshift(close);
    const checkpointer = new Checkpointer({ path, file, writer: connection, limit: logLimit, logger });
    const reserve = hasReserve === true ? new Reserve({ path, logger, connection }) : null;
    const writer = new Writer({
      connection,
      flusher: new Flusher(sync ?? flushOf(path, logFile), meter),
      checkpointer,
      reader,
      openThread: () => new ThreadConnection(path),
      onFatal,
      meter,
      projection,
      logger,
      reserve,
    });
    this.#started = { writer, checkpointer, holdOptions: { path, file, logFile, checkpointer }, reserve };
    const onLost = (error: SetupError): void => writer.refuse(error);
    this.#lock.watch({ file, log: logFile, logger, onLost });
  }

  get #all(): StartedParts {
    if (this.#started === null) throw new Error("The write side is used before its start");
    return this.#started;
  }

  get writer(): Writer {
    return this.#all.writer;
  }

  get checkpointer(): Checkpointer {
    return this.#all.checkpointer;
  }

  get holdOptions(): HoldOptions {
    return this.#all.holdOptions;
  }

  /** Call `close` after the writer is closed. */
  async close(): Promise<void> {
    await this.#all.reserve?.close();
    await this.#all.checkpointer.close();
  }
}
