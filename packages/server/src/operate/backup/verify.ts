/** Verifying the data of a running or stopped service: the database, ids that point to nothing, and the files. */
import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import type { CollectionDefinition } from "@socle/protocol";
import { count, messageOf, SetupError } from "../../base/kernel/index.ts";
import { plainColumn, tableName } from "../../data/collections/index.ts";
import { typeNamed } from "../../data/fields/index.ts";
import { eachFile, type StorageDriver } from "../../files/storage/index.ts";
import { DatabaseFile, DatabaseLock, identifier, placeOf } from "../../store/database/index.ts";
import { type DataPaths, driverOf, putRight } from "./data-paths.ts";

/** Something that was looked at. "info" is allowed and may be of interest; "error" is wrong. */
export interface Finding {
  readonly state: "ok" | "info" | "error";
  readonly subject: "backup" | "checksums" | "database" | "files" | "journal" | "references" | "segments" | "snapshots";
  readonly text: string;
}

/** Findings of a kind that are named; the others are counted. */
const maxNamed = 50;

/** Findings of a kind. The first findings are named. */
export class Tally {
  readonly #named: string[] = [];
  number = 0;

  add(text: string): void {
    this.number += 1;
    if (this.#named.length < maxNamed) this.#named.push(text);
  }

  findings(state: Finding["state"], subject: Finding["subject"]): Finding[] {
    const named = this.#named.map((text): Finding => ({ state, subject, text }));
    const others = this.number - this.#named.length;
    return others > 0 ? [...named, { state, subject, text: `and ${others} more of this kind` }] : named;
  }
}

/**
 * @param options.isRepair moves bytes that belong to no file aside, and changes nothing more.
 * @throws SetupError without a database, or for a repair while a service runs.
 */
export async function verifyData(paths: DataPaths, { isRepair }: { isRepair: boolean }): Promise<Finding[]> {
  const { database: path } = paths;
  if (!existsSync(path)) throw new SetupError(`database ${path}: there is none`);
  const lock = isRepair ? new DatabaseLock(path) : null;
  try {
    if (isRepair) putRight(paths);
    const database = new DatabaseFile(path);
    try {
      const damage = damageOf(database);
      // Further findings in a damaged database say little.
      if (damage.some(({ state }) => state === "error")) return damage;
      const driver = driverOf(paths);
      const missing = await missingFiles(database, driver);
      const aside = `${path}-strays-${new Date().toISOString().replace(/[:.]/g, "-")}`;
      const strays = await strayFiles(database, driver, isRepair ? aside : null);
      return [...damage, ...placeIn(database), ...references(database), ...missing, ...strays];
    } finally {
      database.close();
    }
  } finally {
    lock?.close();
  }
}

function damageOf(database: DatabaseFile): Finding[] {
  const state = "error";
  const subject = "database";
  try {
    const problems = database.check("full");
    if (problems.length > 0) return problems.map((text): Finding => ({ state, subject, text }));
    return [{ state: "ok", subject, text: "pages, indexes and tables agree with each other" }];
  } catch (thrown) {
    return [{ state, subject, text: messageOf(thrown) }];
  }
}

/** The place of the database of a cluster in the chain of the journal: two databases at one position have one state if the ids are equal. */
function placeIn(database: DatabaseFile): Finding[] {
  const columns = database.all<{ name: string }>("SELECT name FROM pragma_table_info('_position')");
  if (!columns.some(({ name }) => name === "entry")) return [];
  const { position, id, journal } = placeOf(database);
  if (journal === null) return [];
  return [{ state: "info", subject: "journal", text: `position ${position}, entry ${id ?? "without an id"}` }];
}

interface Reference {
  readonly collection: string;
  readonly field: string;
  /** Unquoted, like the table of the target. */
  readonly column: string;
  readonly target: string;
  /** Whether the column holds the JSON of several ids. */
  readonly isMultiple: boolean;
}

/** Every column that holds the id of something else. */
function* referencesOf(database: DatabaseFile): Iterable<Reference> {
  const sql = "SELECT definition FROM _collections ORDER BY name";
  for (const { definition } of database.all<{ definition: string }>(sql)) {
    // The definitions were validated before the write.
    const { name, fields } = JSON.parse(definition) as CollectionDefinition;
    yield { collection: name, field: "owner", column: "_owner", target: "_users", isMultiple: false };
    for (const { name: field, type, collection = "", multiple, owner } of fields) {
      const reference = typeNamed(type)?.reference ?? null;
      if (reference === null || owner === true) continue;
      const ofRecords = collection === "users" ? "_users" : tableName(collection);
      const target = reference === "file" ? "_files" : ofRecords;
      yield { collection: name, field, column: plainColumn(field), target, isMultiple: multiple === true };
    }
  }
}

/** Ids that point to nothing: a record or file may be deleted while other records point to the record or file. */
function references(database: DatabaseFile): Finding[] {
  const findings: Finding[] = [];
  for (const { collection, field, column, target, isMultiple } of referencesOf(database)) {
    const table = identifier(tableName(collection));
    const name = `${table}.${identifier(column)}`;
    const isGone = (id: string): string =>
      `${id} IS NOT NULL AND NOT EXISTS (SELECT 1 FROM ${identifier(target)} AS _target WHERE _target.id = ${id})`;
    const condition = isMultiple
      ? `EXISTS (SELECT 1 FROM json_each(${name}) AS _item WHERE ${isGone("_item.value")})`
      : isGone(name);
    const sql = `SELECT count(*) AS n FROM ${table} WHERE ${condition}`;
    const n = database.get<{ n: number }>(sql)?.n ?? 0;
    if (n > 0) {
      const text = `${collection}.${field}: ${count(n, "record")} with an id that is not in ${target.replace(/^_/, "")}`;
      findings.push({ state: "info", subject: "references", text });
    }
  }
  if (findings.length > 0) return findings;
  return [{ state: "ok", subject: "references", text: "every id points to something" }];
}

/** Files of the list with missing bytes, or with another size than in the list. */
async function missingFiles(database: DatabaseFile, driver: StorageDriver): Promise<Finding[]> {
  const wrong = new Tally();
  let whole = 0;
  for (const { id, size, filename } of eachFile(database)) {
    const found = await driver.size(id);
    if (found === size) whole += 1;
    // A service that runs may have deleted the file meanwhile.
    else if (database.get("SELECT 1 FROM _files WHERE id = ?", id) !== null)
      wrong.add(
        `${id} (${filename}): ${found === null ? "its bytes are missing" : `${found} bytes in place of ${size}`}`,
      );
  }
  const state = wrong.number === 0 ? "ok" : "info";
  return [
    { state, subject: "files", text: `${count(whole, "file")} of the list whole` },
    ...wrong.findings("error", "files"),
  ];
}

/** Whether the bytes of a deleted file stay for a continuous backup. */
function isKept(database: DatabaseFile, id: string): boolean {
  const hasTable = database.get("SELECT 1 FROM sqlite_schema WHERE name = '_files_removed'") !== null;
  return hasTable && database.get("SELECT 1 FROM _files_removed WHERE id = ?", id) !== null;
}

/** Bytes that belong to no file. The bytes of uploads and deletions under way are marked in the database. */
async function strayFiles(database: DatabaseFile, driver: StorageDriver, aside: string | null): Promise<Finding[]> {
  const strays = new Tally();
  const marked = new Tally();
  let moved = 0;
  for await (const id of driver.list()) {
    if (database.get("SELECT 1 FROM _files WHERE id = ?", id) !== null) continue;
    if (isKept(database, id)) continue;
    const isMarked = database.get("SELECT 1 FROM _file_remains WHERE id = ?", id) !== null;
    // The bytes may have become a file, or have gone, since the list was made.
    if (database.get("SELECT 1 FROM _files WHERE id = ?", id) !== null || (await driver.size(id)) === null) continue;
    if (aside !== null) {
      await moveAside(driver, id, aside);
      moved += 1;
    } else if (isMarked) marked.add(`${id}: left by an upload or deletion; a start of the service removes the bytes`);
    else strays.add(`${id}: bytes that belong to no file; socle verify --repair moves the bytes aside`);
  }
  const repaired: Finding[] =
    moved === 0 ? [] : [{ state: "info", subject: "files", text: `${count(moved, "stray file")} moved to ${aside}` }];
  return [...repaired, ...marked.findings("info", "files"), ...strays.findings("error", "files")];
}

async function moveAside(driver: StorageDriver, id: string, folder: string): Promise<void> {
  const body = await driver.read(id, null);
  if (body === null) return;
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  await Bun.write(join(folder, id), await new Response(body).bytes());
  await driver.remove(id);
}
