/** The data folder of PocketBase: the database, opened as a copy, the collections, and the rows. */
import { constants, copyFileSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { freeBytes, isObject, messageOf, SetupError } from "../../../../base/kernel/index.ts";
import { DatabaseFile, identifier, makeFolder, type Value } from "../../../../store/database/index.ts";

/** A field as PocketBase stores the field; attributes by type. */
export interface PbField {
  readonly name: string;
  readonly type: string;
  readonly hidden?: boolean;
  readonly required?: boolean;
  readonly min?: number | string | null;
  readonly max?: number | string | null;
  readonly pattern?: string;
  readonly onlyInt?: boolean;
  readonly values?: readonly string[];
  readonly maxSelect?: number;
  readonly mimeTypes?: readonly string[];
  readonly protected?: boolean;
  readonly collectionId?: string;
  readonly cascadeDelete?: boolean;
  readonly onCreate?: boolean;
  readonly onUpdate?: boolean;
  readonly exceptDomains?: readonly string[] | null;
  readonly onlyDomains?: readonly string[] | null;
}

export const ruleNames = ["listRule", "viewRule", "createRule", "updateRule", "deleteRule"] as const;
export type RuleName = (typeof ruleNames)[number];

const collectionTypes = ["base", "auth", "view"] as const;

export interface PbCollection extends Readonly<Record<RuleName, string | null>> {
  readonly id: string;
  readonly name: string;
  readonly type: (typeof collectionTypes)[number];
  readonly created: string;
  readonly fields: readonly PbField[];
  readonly indexes: readonly string[];
  readonly options: Readonly<Record<string, unknown>>;
}

export type PbRow = Readonly<Record<string, Value>>;

/** A step of a path of a rule: along a relation, or back to the rows whose relation points here. */
export interface PathStep {
  readonly table: string;
  readonly field: string;
  readonly isBack: boolean;
  readonly isMultiple: boolean;
}

const fieldTypes = "text editor number bool email url date autodate select file relation json geoPoint password".split(
  " ",
);
/** PocketBase's own migrations up to version 0.40. An app in Go has migrations of its own, whose names end in .go, too. */
const ownMigrations =
  /^(1640988000_(aux_)?init|1717233556_v0\.23_migrate|1717233557_v0\.23_migrate2|1717233558_v0\.23_migrate3|1717233559_v0\.23_migrate4|1763020353_update_default_auth_alert_templates|1778828400_normalize_indexes)\.go$/;
const rowsAtOnce = 500;

export class DataFolder {
  readonly path: string;
  readonly collections: readonly PbCollection[];
  readonly #file: DatabaseFile;
  readonly #work: string;

  /**
   * Opens a copy of the database: SQLite would write beside the original.
   * @param options.work a folder for the copy, which `close` removes. @param options.anyVersion also opens data of a newer version.
   * @throws SetupError for a folder that cannot be moved.
   */
  static async open(path: string, { work, anyVersion }: { work: string; anyVersion: boolean }): Promise<DataFolder> {
    const original = join(path, "data.db");
    const size = statSync(original, { throwIfNoEntry: false })?.size;
    if (size === undefined) throw new SetupError(`${path}: is no data folder of PocketBase: there is no data.db`);
    if (statSync(`${original}-wal`, { throwIfNoEntry: false })?.size)
      throw new SetupError(
        `${original}-wal: PocketBase runs, or was killed. Stop PocketBase, which removes this file, or unpack a backup that PocketBase has made`,
      );
    rmSync(work, { recursive: true, force: true });
    makeFolder(work, 0o700);
    try {
      const free = await freeBytes(work);
      if (free < size) throw new SetupError(`${work}: a copy of data.db needs ${size} bytes, and ${free} are free`);
      copyFileSync(original, join(work, "data.db"), constants.COPYFILE_FICLONE);
      return new DataFolder(path, work, anyVersion);
    } catch (thrown) {
      rmSync(work, { recursive: true, force: true });
      if (thrown instanceof SetupError) throw new SetupError(thrown.message.replace(/^database \S+:/, `${original}:`));
      throw new SetupError(`${original}: cannot be read: ${messageOf(thrown)}`);
    }
  }

  private constructor(path: string, work: string, anyVersion: boolean) {
    this.path = path;
    this.#work = work;
    this.#file = new DatabaseFile(join(work, "data.db"));
    try {
      const [damage] = this.#file.check("quick");
      if (damage !== undefined) throw new SetupError(`${path}: data.db is damaged: ${damage}`);
      this.collections = this.#read(anyVersion);
    } catch (thrown) {
      this.#file.close();
      throw thrown;
    }
  }

  close(): void {
    this.#file.close();
    rmSync(this.#work, { recursive: true, force: true });
  }

  #read(anyVersion: boolean): PbCollection[] {
    const tables = this.#file.all<{ name: string }>("SELECT name FROM sqlite_schema WHERE type = 'table'");
    const has = (name: string): boolean => tables.some((table) => table.name === name);
    if (!has("_collections") || !has("_migrations"))
      throw new SetupError(`${this.path}: data.db is no database of PocketBase: there is no table _collections`);
    const columns = this.#file.all<{ name: string }>("SELECT name FROM pragma_table_info('_collections')");
    if (!columns.some(({ name }) => name === "fields"))
      throw new SetupError(
        `${this.path}: data of PocketBase before 0.23. Start the newest PocketBase on the data once, then move`,
      );
    const newer = this.#file
      .all<{ file: string }>("SELECT file FROM _migrations WHERE file LIKE '%.go' ORDER BY file")
      .find(({ file }) => !ownMigrations.test(file));
    if (newer !== undefined && !anyVersion)
      throw new SetupError(
        `${this.path}: has the migration ${newer.file}, which PocketBase 0.40 does not know: data of a newer PocketBase, or of an app in Go. To move what is known, add --any-version`,
      );
    const rows = this.#file.all<PbRow>("SELECT * FROM _collections WHERE NOT system ORDER BY rowid");
    return rows.map((row) => this.#collection(row));
  }

  #collection(row: PbRow): PbCollection {
    const list = (name: string): unknown[] => JSON.parse(String(row[name] ?? "[]"));
    const options: unknown = JSON.parse(String(row["options"] ?? "{}"));
    const rule = (name: RuleName): string | null => (row[name] === null ? null : String(row[name]));
    // PocketBase has checked the shape; a type that is unknown here is refused.
    const fields = list("fields") as PbField[];
    const name = String(row["name"]);
    const type = collectionTypes.find((each) => each === row["type"]);
    const odd = fields.find((field) => !fieldTypes.includes(field.type));
    if (odd !== undefined || type === undefined)
      throw new SetupError(
        `${this.path}: the ${odd === undefined ? `collection ${name} has` : `field ${name}.${odd.name} has`} the type ${odd?.type ?? row["type"]}, which PocketBase 0.40 does not know`,
      );
    return {
      ...{ id: String(row["id"]), name, type, created: String(row["created"]), fields },
      indexes: list("indexes").map(String),
      options: isObject(options) ? options : {},
      ...{ listRule: rule("listRule"), viewRule: rule("viewRule"), createRule: rule("createRule") },
      ...{ updateRule: rule("updateRule"), deleteRule: rule("deleteRule") },
    };
  }

  count(table: string): number {
    return this.#file.get<{ n: number }>(`SELECT count(*) AS n FROM ${identifier(table)}`)?.n ?? 0;
  }

  /** The rows in the order in which PocketBase has stored the rows. */
  *rows(table: string): Iterable<PbRow> {
    for (let last = 0; ; ) {
      const sql = `SELECT rowid AS _place, * FROM ${identifier(table)} WHERE rowid > ? ORDER BY rowid LIMIT ${rowsAtOnce}`;
      const rows = this.#file.all<PbRow>(sql, last);
      yield* rows;
      if (rows.length < rowsAtOnce) return;
      last = Number(rows.at(-1)?.["_place"]);
    }
  }

  has(table: string, id: string): boolean {
    return this.#file.get(`SELECT 1 FROM ${identifier(table)} WHERE id = ?`, id) !== null;
  }

  /** The links of a user to accounts at providers. */
  links(collectionId: string, id: string): { provider: string; subject: string }[] {
    const sql =
      "SELECT provider, providerId AS subject FROM _externalAuths WHERE collectionRef = ? AND recordRef = ? ORDER BY id";
    return this.#file.all(sql, collectionId, id);
  }

  /** How many rows have an empty value at the end of a path; a row that is missing counts as empty. */
  emptyAt(table: string, steps: readonly PathStep[], field: string): number {
    const joins = steps.map((step, i) => {
      const [here, there] = [`t${i}`, `t${i + 1}`];
      const [from, to] = step.isBack ? [there, here] : [here, there];
      const column = `${from}.${identifier(step.field)}`;
      const on = step.isMultiple ? `${to}.id IN (SELECT value FROM json_each(${column}))` : `${to}.id = ${column}`;
      return `LEFT JOIN ${identifier(step.table)} ${there} ON ${on}`;
    });
    const last = `t${steps.length}.${identifier(field)}`;
    const sql = `SELECT count(DISTINCT t0.id) AS n FROM ${identifier(table)} t0 ${joins.join(" ")} WHERE coalesce(${last}, '') IN ('', '[]')`;
    return this.#file.get<{ n: number }>(sql)?.n ?? 0;
  }

  /** Bytes of the database. */
  get size(): number {
    return statSync(join(this.path, "data.db")).size;
  }

  /** The path of a stored file. */
  filePath(collectionId: string, id: string, name: string): string {
    return join(this.path, "storage", collectionId, id, name);
  }

  /** The size of a stored file; null for a file that is missing. */
  fileSize(path: string): number | null {
    return statSync(path, { throwIfNoEntry: false })?.size ?? null;
  }
}
