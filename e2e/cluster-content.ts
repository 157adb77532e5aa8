/** Content of the databases of a cluster, read from the files: the instances agree when each table holds the same rows. */
import { Database } from "bun:sqlite";
import { join } from "node:path";
import type { TestInstance } from "./cluster-kit.ts";

/** Tables that SQLite keeps for each file. */
const local = /^sqlite_stat\d$/;

interface Content {
  readonly position: number;
  /** A hash of the rows of each table, by the name of the table, and the schema. */
  readonly tables: ReadonlyMap<string, string>;
}

/** A project folder with a database. */
type Place = Pick<TestInstance, "folder">;

export function openFile({ folder }: Place): Database {
  const database = new Database(join(folder, "socle.db"), { readonly: true });
  // An instance that starts or ends holds the lock of the file for a moment.
  database.run("PRAGMA busy_timeout = 10000");
  return database;
}

/** The content of one instance, as of one moment. */
function contentOf(instance: Place): Content {
  using database = openFile(instance);
  database.run("BEGIN");
  const { position } = database.query<{ position: number }, []>("SELECT position FROM _position").get() ?? {
    position: 0,
  };
  const names = database
    .query<{ name: string; sql: string }, []>("SELECT name, sql FROM sqlite_schema WHERE type = 'table' ORDER BY name")
    .all();
  const tables = new Map<string, string>();
  for (const { name, sql } of names) {
    if (local.test(name)) continue;
    const hash = new Bun.CryptoHasher("sha256").update(sql);
    const order = database.query(`SELECT * FROM "${name}" LIMIT 0`).columnNames.map((_, index) => index + 1);
    for (const row of database.query(`SELECT * FROM "${name}" ORDER BY ${order.join()}`).iterate())
      hash.update(JSON.stringify(row, bytes));
    tables.set(name, hash.digest("hex"));
  }
  database.run("ROLLBACK");
  return { position, tables };
}

/** The field `n` of each record of a collection. */
export function numbersAt(instance: Place, collection: string): number[] {
  using database = openFile(instance);
  return database
    .query<{ n: number }, []>(`SELECT n FROM "${collection}" ORDER BY n`)
    .all()
    .map(({ n }) => n);
}

/** The longest wait for equal positions. */
const patienceMs = 60_000;

/**
 * Waits until the instances have the same position, and answers the names of the tables that differ. Nothing may be written meanwhile.
 * @throws Error when the positions stay different.
 */
export async function differences(instances: readonly Place[]): Promise<string[]> {
  for (const end = performance.now() + patienceMs; ; ) {
    const contents = instances.map((instance) => contentOf(instance));
    const [first] = contents;
    if (first !== undefined && contents.every(({ position }) => position === first.position)) {
      const names = new Set(contents.flatMap(({ tables }) => [...tables.keys()]));
      return [...names].filter((name) => contents.some(({ tables }) => tables.get(name) !== first.tables.get(name)));
    }
    if (performance.now() > end)
      throw new Error(`The instances stay at the positions ${contents.map(({ position }) => position).join(", ")}`);
    await Bun.sleep(100);
  }
}

function bytes(_key: string, value: unknown): unknown {
  return value instanceof Uint8Array ? Buffer.from(value).toString("hex") : value;
}
