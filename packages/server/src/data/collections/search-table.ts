/**
 * The search table of a collection: an FTS5 index without content over the words of the searched fields. Triggers keep the
 * table in the statement of each change. Its columns are named by position, so that fields may have any names.
 */
import type { CollectionDefinition } from "@socle/protocol";
import { identifier, type SlowTransactor } from "../../store/database/index.ts";
import { plainColumn, tableName } from "./collection.ts";
import { type CollectionPlan, isSearchChanged } from "./plan.ts";

/** `_search_text` cuts a text into words; the tokenizer only splits at the separators that `_search_text` left. */
const tokenizer = "unicode61 remove_diacritics 0 categories ''L* N* Co M*''";

/** The unquoted name. No table of a collection begins with `_search_`. */
export function searchTableName(collection: string): string {
  return `_search_${tableName(collection)}`;
}

/** The column of the search table that holds the words of a field. */
export function searchColumn(position: number): string {
  return `c${position}`;
}

/** FTS5 keeps a search table in tables of its own, whose names end like this. */
const shadows = ["data", "idx", "content", "docsize", "config"];

/**
 * The searched collection that occupies the name of the search table of `collection` with a table of FTS5; null if the name
 * is free.
 */
export function searchNamesake(collection: string, searched: readonly string[]): string | null {
  const nameOf = (each: string): string => searchTableName(each).toLowerCase();
  const takenBy = (other: string): boolean => shadows.some((end) => `${nameOf(other)}_${end}` === nameOf(collection));
  return searched.find(takenBy) ?? null;
}

export class SearchTable {
  readonly #tx: SlowTransactor;
  readonly #records: string;
  readonly #name: string;

  constructor(tx: SlowTransactor, collection: string) {
    this.#tx = tx;
    this.#records = tableName(collection);
    this.#name = searchTableName(collection);
  }

  /** Before columns change, which triggers may name. */
  async release(before: CollectionDefinition | null): Promise<void> {
    if (before?.search === undefined) return;
    for (const event of ["insert", "update", "delete"]) await this.#tx.run(`DROP TRIGGER ${this.#trigger(event)}`);
  }

  /**
   * Makes or drops the search table, after the columns have changed. The words of all records are read again if other
   * fields are searched.
   */
  async restore({ before, ...plan }: CollectionPlan): Promise<void> {
    const { search } = plan.after;
    const isSame = before !== null && !isSearchChanged({ before, ...plan });
    if (before?.search !== undefined && !isSame) await this.drop();
    if (search === undefined) return;
    const columns = search.map(plainColumn);
    if (!isSame) await this.#fill(columns);
    await this.#watch(columns);
  }

  async drop(): Promise<void> {
    await this.#tx.run(`DROP TABLE ${identifier(this.#name)}`);
  }

  async #fill(columns: readonly string[]): Promise<void> {
    const [name, names] = [identifier(this.#name), columns.map((_, i) => searchColumn(i)).join(", ")];
    const options = `content='', contentless_delete=1, tokenize='${tokenizer}'`;
    await this.#tx.run(`CREATE VIRTUAL TABLE ${name} USING fts5(${names}, ${options})`);
    const words = columns.map((column) => `_search_text(${identifier(column)})`).join(", ");
    await this.#tx.run(`INSERT INTO ${name} (rowid, ${names}) SELECT _seq, ${words} FROM ${identifier(this.#records)}`);
  }

  async #watch(columns: readonly string[]): Promise<void> {
    const [name, records] = [identifier(this.#name), identifier(this.#records)];
    const names = columns.map((_, i) => searchColumn(i));
    const words = columns.map((column) => `_search_text(new.${identifier(column)})`);
    const of = columns.map(identifier).join(", ");
    await this.#tx.run(
      `CREATE TRIGGER ${this.#trigger("insert")} AFTER INSERT ON ${records} BEGIN
         INSERT INTO ${name} (rowid, ${names.join(", ")}) VALUES (new._seq, ${words.join(", ")}); END`,
    );
    await this.#tx.run(
      `CREATE TRIGGER ${this.#trigger("update")} AFTER UPDATE OF ${of} ON ${records} BEGIN
         UPDATE ${name} SET ${names.map((each, i) => `${each} = ${words[i]}`).join(", ")} WHERE rowid = new._seq; END`,
    );
    await this.#tx.run(
      `CREATE TRIGGER ${this.#trigger("delete")} AFTER DELETE ON ${records} BEGIN
         DELETE FROM ${name} WHERE rowid = old._seq; END`,
    );
  }

  #trigger(event: string): string {
    return identifier(`${this.#name}_${event}`);
  }
}
