/**
 * Opening the database file: its path and folder, its connections, the upgrade of its tables, readable errors, and the lock,
 * which keeps a second service off the file.
 */
import {
  accessSync,
  closeSync,
  constants,
  existsSync,
  fstatSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  realpathSync,
  type Stats,
  statSync,
} from "node:fs";
import { dirname } from "node:path";
import { AppError, messageOf, SetupError } from "../../../base/kernel/index.ts";
import type { Logger } from "../../../base/logging/index.ts";
import type { Reader } from "../store.ts";
import type { ModuleSchema, Transactor } from "../transaction.ts";
import { Connection } from "./connection.ts";
import { damageAdvice, hasMetDamage, ifDamaged, sqliteCode } from "./errors.ts";
import { addTriggerFunctions } from "./functions.ts";

/** Flushes a directory, so that the names of new files survive a power cut. Windows keeps the names without a flush. */
export function syncFolder(folder: string): void {
  if (process.platform === "win32") return;
  const fd = openSync(folder, "r");
  fsyncSync(fd);
  closeSync(fd);
}

/** Makes a folder and its parent folders, and flushes the name of each new folder. */
export function makeFolder(folder: string, mode = 0o777): void {
  const first = mkdirSync(folder, { recursive: true, mode });
  if (first === undefined) return;
  for (let made = folder; ; made = dirname(made)) {
    syncFolder(dirname(made));
    if (made === first || made === dirname(made)) return;
  }
}

/** The readable line for SQLite's error about a file that SQLite cannot use. */
function explain(path: string, thrown: unknown): SetupError {
  const code = sqliteCode(thrown) ?? "";
  if (code.startsWith("SQLITE_NOTADB"))
    return new SetupError(`database ${path}: is not a SQLite database; name another file, or ${damageAdvice}`);
  if (code.startsWith("SQLITE_READONLY")) return new SetupError(`database ${path}: is read-only`);
  if (code.startsWith("SQLITE_BUSY"))
    return new SetupError(`database ${path}: is in use by another process that does not release the database`);
  // The error of a connection names the file and the next step.
  if (hasMetDamage(thrown)) return new SetupError(messageOf(thrown));
  // The statements of a start are correct, so a statement that does not match its table means a damaged table.
  const advice = code === "SQLITE_ERROR" ? ifDamaged : "";
  return new SetupError(`database ${path}: cannot be opened: ${messageOf(thrown)}${advice}`);
}

/**
 * The readable line for a start that has failed after the database was opened. An error from outside the database may
 * still have its cause there: a damaged page may give wrong values.
 */
export function asSetupError(path: string, thrown: unknown): SetupError {
  if (thrown instanceof SetupError) return thrown;
  const cause = thrown instanceof AppError && thrown.cause !== undefined ? thrown.cause : thrown;
  if (sqliteCode(cause) !== null) return explain(path, cause);
  const problem = messageOf(thrown).replace(/\s*\n\s*/g, " ");
  return new SetupError(`database ${path}: the start has failed: ${problem}${ifDamaged}`);
}

/** The path without symbolic links: SQLite keeps its log beside the real file, and the lock must be there, too. */
export function resolvePath(path: string): string {
  return existsSync(path) ? realpathSync(path) : path;
}

/** Checks the path, because SQLite detects these errors later or reports these errors less clearly. */
function checkPath(path: string): void {
  const stats = existsSync(path) ? statSync(path) : null;
  if (stats?.isDirectory() === true) throw new SetupError(`database ${path}: is a folder; it must be a file`);
  try {
    if (stats !== null) accessSync(path, constants.W_OK);
  } catch {
    throw new SetupError(`database ${path}: is read-only`);
  }
  try {
    makeFolder(dirname(path));
  } catch (thrown) {
    throw new SetupError(`database ${path}: its folder cannot be made: ${messageOf(thrown)}`);
  }
}

/** Whether a path leads to a file that was looked at before. */
function leadsTo(path: string, known: Stats | undefined): boolean {
  const named = statSync(path, { throwIfNoEntry: false });
  return named !== undefined && named.ino === known?.ino && named.dev === known.dev;
}

/**
 * Checks that the name still leads to the open file. A connection to another file would take the index of the log,
 * which the connections of this process map into memory, for an unused index, and truncate the index: the process would
 * end with a bus error.
 * @throws SetupError when the file was deleted or replaced.
 */
export function assertSameFile(path: string, file: number): void {
  if (!leadsTo(path, fstatSync(file))) throw lostFile(path);
}

/** The line about a file of the database whose name leads to another file or to no file. */
export function lostFile(path: string): SetupError {
  return new SetupError(`database ${path}: was deleted or replaced while it was open`);
}

/** Opens the writing connection, makes a missing file, and proves that the file is writable. */
export function openWriter(path: string): Connection {
  checkPath(path);
  try {
    const connection = new Connection(path, { readonly: false });
    connection.execute("PRAGMA busy_timeout = 5000");
    connection.execute("PRAGMA journal_mode = WAL");
    connection.execute("PRAGMA synchronous = NORMAL");
    connection.execute("PRAGMA wal_autocheckpoint = 0");
    connection.execute("PRAGMA cache_size = -16000");
    connection.execute("PRAGMA temp_store = MEMORY");
    connection.execute("BEGIN IMMEDIATE");
    connection.execute("CREATE TABLE IF NOT EXISTS _schema (module TEXT PRIMARY KEY, version INTEGER NOT NULL) STRICT");
    connection.execute("COMMIT");
    syncFolder(dirname(path));
    addTriggerFunctions(connection);
    return connection;
  } catch (thrown) {
    throw explain(path, thrown);
  }
}

/** The versions of the tables, by module. */
export function versionsOf(reader: Reader): Map<string, number> {
  const rows = reader.all<{ module: string; version: number }>("SELECT module, version FROM _schema");
  return new Map(rows.map(({ module, version }) => [module, version]));
}

/** Upgrades all tables to this version. @throws SetupError when a newer version has made the tables. */
export function upgradeTables(tx: Transactor, path: string, schemas: readonly ModuleSchema[]): void {
  const known = new Set(schemas.map(({ module }) => module));
  for (const module of versionsOf(tx).keys())
    if (!known.has(module))
      throw new SetupError(
        `database ${path}: has tables of "${module}", which this socle does not know: this socle is too old for the database${ifDamaged}`,
      );
  for (const schema of schemas) upgradeModule(tx, path, schema);
}

/** Upgrades the tables of a module. @throws SetupError when a newer version has made the tables. */
export function upgradeModule(tx: Transactor, path: string, { module, steps }: ModuleSchema): void {
  const row = tx.get<{ version: number }>("SELECT version FROM _schema WHERE module = ?", module);
  const version = row?.version ?? 0;
  if (version > steps.length)
    throw new SetupError(
      `database ${path}: its ${module} tables have version ${version}; this socle knows ${steps.length}: this socle is too old for the database${ifDamaged}`,
    );
  for (const step of steps.slice(version)) tx.run(step);
  if (version < steps.length)
    tx.run("INSERT OR REPLACE INTO _schema (module, version) VALUES (?, ?)", module, steps.length);
}

/**
 * A descriptor of the database file, or of its log if `ending` is "-wal". The file of the log stays the same while a connection
 * is open. The descriptor of the database file must stay open until every connection of this process has closed: closing any
 * descriptor of a file drops all POSIX locks of this process on the file, including SQLite's locks.
 */
export function openDescriptor(path: string, ending: "" | "-wal"): { file: number; close: () => void } {
  try {
    const file = openSync(`${path}${ending}`, "r+");
    return { file, close: () => closeSync(file) };
  } catch (thrown) {
    throw explain(path, thrown);
  }
}

/** The lock of the database is held by a process. */
export class DatabaseInUse extends SetupError {}

/** The process with the write lock on a file, for a message; empty where the system does not tell. */
function holderOf(ino: number): string {
  if (!existsSync("/proc/locks")) return "";
  const locks = readFileSync("/proc/locks", "utf8").matchAll(/ WRITE (\d+) [0-9a-f]+:[0-9a-f]+:(\d+) /g);
  const found = [...locks].find(([, , file]) => Number(file) === ino);
  return found === undefined || ["0", String(process.pid)].includes(found[1] ?? "") ? "" : ` (pid ${found[1]})`;
}

/** Interval of the looks at the files. */
const lookEveryMs = 1_000;
const logEveryMs = 60_000;

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
    const files: readonly (readonly [path: string, opened: Stats | undefined])[] = [
      [this.#database, fstatSync(file)],
      [`${this.#database}-wal`, fstatSync(log)],
      [indexPath, statSync(indexPath, { throwIfNoEntry: false })],
    ];
    this.#timer = setInterval(() => {
      try {
        for (const [path, opened] of files) if (opened !== undefined && !leadsTo(path, opened)) throw lostFile(path);
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
    if (leadsTo(this.#path, this.#stats)) return;
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
        throw new DatabaseInUse(
          `database ${this.#database}: is in use by another socle process${holderOf(statSync(this.#path).ino)}`,
        );
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
