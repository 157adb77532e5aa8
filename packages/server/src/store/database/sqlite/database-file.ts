/** A database file for readers outside the service: a copy, the file in a backup, or a service's file, read only. */
import { closeSync, existsSync, fsyncSync, openSync, renameSync, rmSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { SetupError } from "../../../base/kernel/index.ts";
import { beginning, type History, newEntryId, newRole } from "../../journal/index.ts";
import { positionSchema } from "../transaction.ts";
import { Connection } from "./connection.ts";
import { asSetupError, DatabaseLock, openWriter, syncFolder, versionsOf } from "./open-file.ts";
import { historyOf, placeOf, writePlace } from "./position-table.ts";
import type { CheckpointResult } from "./thread-server.ts";

/** The most findings; more findings say nothing new. */
const maxFindings = 100;

export class DatabaseFile extends Connection {
  /** @throws SetupError when the file cannot be read. */
  constructor(path: string) {
    try {
      super(path, { readonly: true });
      this.get("SELECT 1 FROM sqlite_schema");
    } catch (thrown) {
      throw asSetupError(path, thrown);
    }
  }

  /** The problems of the file, a line per problem; empty if the file is whole. "quick" does not compare indexes with tables. */
  check(depth: "quick" | "full"): string[] {
    const pragma = depth === "quick" ? "quick_check" : "integrity_check";
    const rows = this.all<Record<string, string>>(`PRAGMA ${pragma}(${maxFindings})`);
    return rows.flatMap((row) => Object.values(row)).filter((line) => line !== "ok");
  }
}

/** A new database file for rows that a command reads again and throws away: no flush, no log. A crash leaves the file unusable. */
export class WorkFile extends Connection {
  constructor(path: string) {
    super(path, { readonly: false });
    this.execute("PRAGMA journal_mode = OFF");
    this.execute("PRAGMA synchronous = OFF");
  }
}

/**
 * Merges the copied part of a log into the copy of the database, as after a crash, and removes the log.
 * @throws Error when SQLite does not find `pages` pages in the log.
 */
export function mergeLog(path: string, pages: number): void {
  const copy = new Connection(path, { readonly: false });
  try {
    // A power cut makes the copy worthless anyway, so no flush is needed.
    copy.execute("PRAGMA synchronous = OFF");
    const merged = copy.get<CheckpointResult>("PRAGMA wal_checkpoint(PASSIVE)")?.checkpointed;
    if (merged !== pages)
      throw new Error(`the copy of the write-ahead log has ${merged} whole pages in place of ${pages}`);
  } finally {
    copy.close();
  }
}

/** Makes the database of a cluster, in a file that no service has open, the database of a single service. */
export function leaveJournal(path: string): void {
  const file = new Connection(path, { readonly: false });
  try {
    const columns = file.all<{ name: string }>("SELECT name FROM pragma_table_info('_position')");
    const has = (column: string): boolean => columns.some(({ name }) => name === column);
    const hasChain = file.get("SELECT 1 FROM sqlite_schema WHERE name = '_chain'") !== null;
    const ofCluster = "(SELECT journal FROM _position WHERE journal IS NOT NULL)";
    if (hasChain && has("journal")) file.run(`UPDATE _chain SET name = ${ofCluster} WHERE EXISTS ${ofCluster}`);
    if (has("journal")) file.run("UPDATE _position SET journal = NULL WHERE journal IS NOT NULL");
    if (!has("entry")) return;
    file.run("UPDATE _position SET entry = NULL WHERE entry IS NOT NULL");
    file.run("DELETE FROM _roles");
  } finally {
    // The last connection copies the log into the file, flushes the file, and removes the log.
    file.close();
  }
}

/**
 * Makes the database, in a file that no service has open, a database of a cluster. An entry without an id gets an id of a new role. Answers the history.
 * @param position the position in the journal; without it, the position stays.
 */
export function enterJournal(path: string, { id, position }: { id: string; position?: number }): History {
  const file = new Connection(path, { readonly: false });
  try {
    const before = placeOf(file);
    const place = { position: position ?? before.position, id: before.id ?? newEntryId(newRole()) };
    file.run("BEGIN IMMEDIATE");
    writePlace(file, place, before);
    file.run("UPDATE _position SET journal = ?", id);
    file.run("COMMIT");
    return historyOf(file);
  } finally {
    file.close();
  }
}

/** The journal and the history of a database before a service opens the file; null for no file, and for a file without data. */
export function placeInFile(path: string): { journal: string | null; history: History } | null {
  if (!existsSync(path)) return null;
  const file = new DatabaseFile(path);
  try {
    if (file.get("SELECT 1 FROM sqlite_schema WHERE name = '_schema'") === null) return null;
    const versions = versionsOf(file);
    if (versions.size <= 1) return null;
    const isKnown = versions.get(positionSchema.module) === positionSchema.steps.length;
    const journal = isKnown ? placeOf(file).journal : null;
    return { journal, history: isKnown ? historyOf(file) : { roles: [], end: beginning } };
  } finally {
    file.close();
  }
}

/** The path of the smaller copy before the copy replaces the database. */
export function vacuumPath(path: string): string {
  return `${path}-vacuum`;
}

/**
 * Writes the database anew, without the space of deleted rows. The old file stays until the new file is complete.
 * @throws SetupError while a service has the database open, or when there is too little space.
 */
export function vacuumDatabase(path: string): { before: number; after: number } {
  const lock = new DatabaseLock(path);
  const copy = vacuumPath(path);
  try {
    const before = statSync(path).size;
    const writer = openWriter(path);
    try {
      rmSync(copy, { force: true });
      writer.run("VACUUM INTO ?", copy);
      const file = openSync(copy, "r+");
      fsyncSync(file);
      closeSync(file);
    } finally {
      // The last connection copies the log into the old file and removes the log.
      writer.close();
    }
    if (statSync(`${path}-wal`, { throwIfNoEntry: false }) !== undefined)
      throw new SetupError(
        `database ${path}: another process reads the database; try again after the end of that process`,
      );
    renameSync(copy, path);
    syncFolder(dirname(path));
    return { before, after: statSync(path).size };
  } catch (thrown) {
    rmSync(copy, { force: true });
    throw asSetupError(path, thrown);
  } finally {
    lock.close();
  }
}
