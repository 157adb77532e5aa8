/** Opening the database file: its path and folder, the upgrade of the tables, and readable errors. */
import {
  accessSync,
  closeSync,
  constants,
  existsSync,
  fstatSync,
  fsyncSync,
  mkdirSync,
  openSync,
  realpathSync,
  statSync,
} from "node:fs";
import { dirname } from "node:path";
import { AppError, messageOf, SetupError } from "../../../base/kernel/index.ts";
import { Connection, sqliteCode } from "./connection.ts";
import { damageAdvice } from "./damage.ts";
import { hasMetDamage } from "./errors.ts";
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
export function explain(path: string, thrown: unknown): SetupError {
  const code = sqliteCode(thrown) ?? "";
  if (code.startsWith("SQLITE_NOTADB"))
    return new SetupError(`database ${path}: is not a SQLite database; name another file, or ${damageAdvice}`);
  if (code.startsWith("SQLITE_READONLY")) return new SetupError(`database ${path}: is read-only`);
  if (code.startsWith("SQLITE_BUSY"))
    return new SetupError(`database ${path}: is in use by another process that does not let go of it`);
  // The error of a connection names the file and the next step.
  if (hasMetDamage(thrown)) return new SetupError(messageOf(thrown));
  // The statements of a start are correct, so a statement that does not match its table means a damaged table.
  const advice = code === "SQLITE_ERROR" ? `; if the file is damaged, ${damageAdvice}` : "";
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
  return new SetupError(`database ${path}: the start has failed: ${problem}; if the file is damaged, ${damageAdvice}`);
}

/** The path without symbolic links: SQLite keeps its log beside the real file, and the lock must be there, too. */
export function resolvePath(path: string): string {
  return existsSync(path) ? realpathSync(path) : path;
}

/** Checks the path, because SQLite detects these errors later or reports these errors less clearly. */
export function checkPath(path: string): void {
  if (existsSync(path) && statSync(path).isDirectory())
    throw new SetupError(`database ${path}: is a folder; it must be a file`);
  if (existsSync(path)) {
    try {
      accessSync(path, constants.W_OK);
    } catch {
      throw new SetupError(`database ${path}: is read-only`);
    }
  }
  try {
    makeFolder(dirname(path));
  } catch (thrown) {
    throw new SetupError(`database ${path}: its folder cannot be made: ${messageOf(thrown)}`);
  }
}

/**
 * Checks that the name still leads to the open file. A connection to another file would take the index of the log,
 * which the connections of this process map into memory, for an unused index, and truncate the index: the process would
 * end with a bus error.
 * @throws SetupError when the file was deleted or replaced.
 */
export function assertSameFile(path: string, file: number): void {
  const [named, opened] = [statSync(path, { throwIfNoEntry: false }), fstatSync(file)];
  if (named?.ino !== opened.ino || named.dev !== opened.dev) throw lostFile(path);
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

export function openReader(path: string): Connection {
  const connection = new Connection(path, { readonly: true });
  connection.execute("PRAGMA busy_timeout = 5000");
  connection.execute("PRAGMA cache_size = -8000");
  return connection;
}

/**
 * A descriptor of the database file itself. The descriptor must stay open until every connection of this process has
 * closed: closing any descriptor of a file drops all POSIX locks of this process on the file, including SQLite's locks.
 */
export function openDatabaseFile(path: string): { file: number; close: () => void } {
  let file: number;
  try {
    file = openSync(path, "r+");
  } catch (thrown) {
    throw explain(path, thrown);
  }
  return { file, close: () => closeSync(file) };
}

/** A descriptor of the write-ahead log. The file of the log stays the same while a connection is open. */
export function openLog(path: string): { file: number; close: () => void } {
  let file: number;
  try {
    file = openSync(`${path}-wal`, "r+");
  } catch (thrown) {
    throw explain(path, thrown);
  }
  return { file, close: () => closeSync(file) };
}
