/** Changes of the mirror: statements with rows of JSON, as the function of the mirror runs the statements. */
import { identifier } from "../../../store/database/index.ts";
import { buildingName } from "./schema.ts";
import type { MirroredTable } from "./tables.ts";

/** Half of a pair of code units, or U+0000, in JSON: PostgreSQL holds neither. Both alternatives begin after a whole escape. */
const unheld = /\\(?:\\|u0000|ud[89a-f][0-9a-f]{2})/g;

export class Changes {
  readonly #schema: string;
  readonly #texts: string[] = [];
  /** About the characters of the changes. */
  length = 0;

  /** @param schema the unquoted name of the schema. */
  constructor(schema: string) {
    this.#schema = identifier(schema);
  }

  /** Adds other changes. */
  add(others: Changes): void {
    this.#texts.push(...others.#texts);
    this.length += others.length;
  }

  /** Makes the table in which the records of a collection are put together; a table of the collection goes. */
  build(collection: string, { columns, shape }: MirroredTable): void {
    this.drop(collection);
    this.#run(`CREATE TABLE ${this.#schema}.${identifier(buildingName(collection))} (${columns})`);
    this.keep(collection, shape, 0);
  }

  /** Gives the table that was put together the name of the collection. */
  swap(collection: string, { shape }: MirroredTable): void {
    this.#dropTable(collection);
    const building = `${this.#schema}.${identifier(buildingName(collection))}`;
    this.#run(`ALTER TABLE ${building} RENAME TO ${identifier(collection)}`);
    this.keep(collection, shape, null);
  }

  drop(collection: string): void {
    this.#dropTable(collection);
    this.#dropTable(buildingName(collection));
    const gone = `DELETE FROM ${this.#schema}._mirror_tables WHERE collection IN (SELECT jsonb_array_elements_text($1))`;
    this.#run(gone, [JSON.stringify(collection)]);
  }

  /** Notes how far the table of a collection is built; null for a whole table. */
  keep(collection: string, shape: string, builtTo: number | null): void {
    this.#run(
      `INSERT INTO ${this.#schema}._mirror_tables (collection, shape, built_to)
       SELECT r->>0, r->>1, (r->>2)::bigint FROM jsonb_array_elements($1) AS _(r)
       ON CONFLICT (collection) DO UPDATE SET shape = excluded.shape, built_to = excluded.built_to`,
      [JSON.stringify([collection, shape, builtTo])],
    );
  }

  /** @param table the unquoted name; @param rows records as JSON. */
  upsert(table: string, { upsert }: MirroredTable, rows: readonly string[]): void {
    if (rows.length > 0) this.#run(`INSERT INTO ${this.#schema}.${identifier(table)} ${upsert}`, rows);
  }

  delete(table: string, ids: readonly string[]): void {
    const name = `${this.#schema}.${identifier(table)}`;
    const rows = ids.map((id) => JSON.stringify(id));
    if (rows.length > 0) this.#run(`DELETE FROM ${name} WHERE id IN (SELECT jsonb_array_elements_text($1))`, rows);
  }

  /** The JSON. A character that PostgreSQL cannot hold is replaced by U+FFFD. */
  toText(): string {
    return `[${this.#texts.join(",")}]`.replace(unheld, (found) => (found === "\\\\" ? found : "\ufffd"));
  }

  #dropTable(name: string): void {
    this.#run(`DROP TABLE IF EXISTS ${this.#schema}.${identifier(name)} CASCADE`);
  }

  #run(sql: string, rows: readonly string[] = []): void {
    const text = `{"sql":${JSON.stringify(sql)},"rows":[${rows.join(",")}]}`;
    this.length += text.length;
    this.#texts.push(text);
  }
}
