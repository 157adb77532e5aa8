/** The lock of the database: keeps a second service off the same file. */
import { type Stats, statSync } from "node:fs";
import { messageOf, SetupError } from "../../../base/kernel/index.ts";
import type { Logger } from "../../../base/logging/index.ts";
import { Connection, sqliteCode } from "./connection.ts";
import { assertSameFile, checkPath, explain, lostFile } from "./open-file.ts";

const lookEveryMs = 1_000;
const logEveryMs = 60_000;

function isSame(one: Stats | undefined, other: Stats | undefined): boolean {
  return one !== undefined && other !== undefined && one.ino === other.ino && one.dev === other.dev;
}

/**
 * An exclusive lock on a file beside the database. The operating system releases the lock when the process ends in any
 * way. The lock belongs to the file and not to its name, so `watch` checks each second that the name still leads to the
 * file, and takes the lock again if the file was deleted.
 */
export class DatabaseLock {
  readonly #database: string;
  readonly #path: string;
  #connection: Connection;
  #stats: Stats | undefined;
  #timer: Timer | null = null;
  #loggedAt = Number.NEGATIVE_INFINITY;

  /** @throws SetupError while another service holds the lock. */
  constructor(database: string) {
    this.#database = database;
    this.#path = `${database}-lock`;
    checkPath(database);
    try {
      this.#connection = this.#take();
    } catch (thrown) {
      throw thrown instanceof SetupError ? thrown : explain(database, thrown);
    }
  }

  /**
   * @param options `file` and `log`, descriptors of the database file and its log; `onLost`, called once when another service
   * has taken the lock, or when the name of the database, of its log or of the log's index leads to no file or to another file.
   */
  watch(options: { file: number; log: number; logger: Logger; onLost: (error: SetupError) => void }): void {
    const { file, log, logger, onLost } = options;
    const indexPath = `${this.#database}-shm`;
    const index = statSync(indexPath, { throwIfNoEntry: false });
    this.#timer = setInterval(() => {
      try {
        assertSameFile(this.#database, file);
        assertSameFile(`${this.#database}-wal`, log);
        if (index !== undefined && !isSame(statSync(indexPath, { throwIfNoEntry: false }), index))
          throw lostFile(indexPath);
        this.#look(logger);
      } catch (thrown) {
        if (thrown instanceof SetupError) {
          this.#stop();
          onLost(thrown);
        } else {
          this.#log(
            logger,
            "error",
            `The lock of the database cannot be looked at or made again: ${messageOf(thrown)}`,
          );
        }
      }
    }, lookEveryMs).unref();
  }

  close(): void {
    this.#stop();
    this.#connection.close();
  }

  #look(logger: Logger): void {
    if (isSame(statSync(this.#path, { throwIfNoEntry: false }), this.#stats)) return;
    const old = this.#connection;
    this.#connection = this.#take();
    old.close();
    this.#log(logger, "warn", `${this.#path} was deleted, and has been made again: it keeps a second service out`);
  }

  /** @throws SetupError only if another service holds the lock: any other failure may be temporary. */
  #take(): Connection {
    const connection = new Connection(this.#path, { readonly: false });
    try {
      connection.execute("BEGIN EXCLUSIVE");
      this.#stats = statSync(this.#path);
      return connection;
    } catch (thrown) {
      connection.close();
      if (sqliteCode(thrown)?.startsWith("SQLITE_BUSY") === true)
        throw new SetupError(`database ${this.#database}: is in use by another socle process`);
      throw thrown;
    }
  }

  #stop(): void {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#timer = null;
  }

  #log(logger: Logger, level: "warn" | "error", message: string): void {
    const now = performance.now();
    if (now - this.#loggedAt < logEveryMs) return;
    this.#loggedAt = now;
    logger[level](message);
  }
}
