/** Counters of sequences: the last number that was given, by collection, field and the values by which the records are counted. */
import type { CollectionDefinition, FieldDefinition } from "@socle/protocol";
import {
  identifier,
  type Reader,
  type SlowTransactor,
  type Transactor,
  type Value,
} from "../../store/database/index.ts";
import { scopeOf } from "../fields/index.ts";
import { columnName, plainColumn, tableName } from "./collection.ts";
import type { ValueRename } from "./plan.ts";

export const counterTable =
  "CREATE TABLE _sequences (collection TEXT NOT NULL, field TEXT NOT NULL, scope TEXT NOT NULL, last INTEGER NOT NULL, PRIMARY KEY (collection, field, scope)) STRICT, WITHOUT ROWID";

/** The counter of a field and of the values by which the records are counted: see `counterKey`. */
export interface Counter {
  readonly collection: string;
  readonly field: string;
  readonly scope: string;
}

/** The key of a counter: the stored values by which the records are counted, as `json_array` of SQL writes values. */
export function counterKey(scope: readonly Value[]): string {
  return JSON.stringify(scope);
}

/** The last given number; 0 before the first. */
export function lastNumber(reader: Reader, counter: Counter): number {
  const { collection, field, scope } = counter;
  const sql = "SELECT last FROM _sequences WHERE collection = ? AND field = ? AND scope = ?";
  return reader.get<{ last: number }>(sql, collection, field, scope)?.last ?? 0;
}

/** Notes that a number was given. A counter never falls. */
export function keepNumber(tx: Transactor, { collection, field, scope }: Counter, number: number): void {
  const sql = `INSERT INTO _sequences (collection, field, scope, last) VALUES (?, ?, ?, ?)
     ON CONFLICT (collection, field, scope) DO UPDATE SET last = max(last, excluded.last)`;
  tx.run(sql, collection, field, scope, number);
}

/** The counters of a collection, during one migration. */
export class Counters {
  readonly #tx: SlowTransactor;
  readonly #collection: string;
  readonly #table: string;

  constructor(tx: SlowTransactor, collection: string) {
    this.#tx = tx;
    this.#collection = collection;
    this.#table = identifier(tableName(collection));
  }

  /** Forgets the counters of a field, or all counters. */
  async drop(field: string | null = null): Promise<void> {
    const sql = "DELETE FROM _sequences WHERE collection = ? AND field = coalesce(?, field)";
    await this.#tx.run(sql, this.#collection, field);
  }

  async takeOver(collection: string): Promise<void> {
    await this.drop();
    await this.#tx.run("UPDATE _sequences SET collection = ? WHERE collection = ?", this.#collection, collection);
  }

  async rename(from: string, to: string): Promise<void> {
    const sql = "UPDATE _sequences SET field = ? WHERE collection = ? AND field = ?";
    await this.#tx.run(sql, to, this.#collection, from);
  }

  /**
   * Gives the counters of a value of a field to the new name of the value. A counter of the new name is of a value that was
   * removed: the greater number stays.
   */
  async renameValue({ fields }: CollectionDefinition, by: string, { from, to }: ValueRename): Promise<void> {
    for (const field of fields) {
      const place = scopeOf(field).indexOf(by);
      if (place < 0) continue;
      const path = `$[${place}]`;
      const counters = "collection = ? AND field = ? AND json_extract(scope, ?) = ?";
      const old = [this.#collection, field.name, path, from];
      await this.#tx.run(
        `INSERT INTO _sequences (collection, field, scope, last)
         SELECT collection, field, json_set(scope, ?, ?), last FROM _sequences WHERE ${counters}
         ON CONFLICT (collection, field, scope) DO UPDATE SET last = max(last, excluded.last)`,
        path,
        to,
        ...old,
      );
      await this.#tx.run(`DELETE FROM _sequences WHERE ${counters}`, ...old);
    }
  }

  /** Numbers the records without a number, in the order of creation, and sets the counters. */
  async begin(definition: CollectionDefinition, field: FieldDefinition): Promise<void> {
    await this.drop(field.name);
    const column = identifier(plainColumn(field.name));
    const scope = scopeOf(field)
      .flatMap((name) => definition.fields.filter((each) => each.name === name))
      .map((each) => `${this.#table}.${identifier(columnName(each))}`);
    const partition = (also: string[]): string => {
      const by = [...scope, ...also];
      return by.length === 0 ? "" : `PARTITION BY ${by.join(", ")} `;
    };
    const own = `${this.#table}.${column}`;
    const place = `row_number() OVER (${partition([`${own} IS NULL`])}ORDER BY ${this.#table}.createdAt, ${this.#table}._seq)`;
    const last = `max(coalesce(max(${own}) OVER (${partition([])}), 0), 0)`;
    await this.#tx.run(
      `UPDATE ${this.#table} SET ${column} = _numbered.number FROM
       (SELECT ${this.#table}._seq AS seq, ${own} AS old, ${place} + ${last} AS number FROM ${this.#table}) AS _numbered
       WHERE ${this.#table}._seq = _numbered.seq AND _numbered.old IS NULL`,
    );
    const groups = scope.length === 0 ? "" : `GROUP BY ${scope.join(", ")} `;
    await this.#tx.run(
      `INSERT INTO _sequences (collection, field, scope, last)
       SELECT ?, ?, json_array(${scope.join(", ")}), max(max(${own}), 0) FROM ${this.#table} ${groups}HAVING max(${own}) IS NOT NULL`,
      this.#collection,
      field.name,
    );
  }
}
