/**
 * Side tables of a collection, made and changed by migrations; triggers keep the tables in the statement of each change.
 *
 * An item table holds the items of a multiple field, found by value: a row is an item and the record that holds the item. A table of
 * folded texts holds the texts of a field that is unique without regard to case: no two rows have the same folding.
 * The search table is an FTS5 index without content over the words of the searched fields. The columns are named by
 * position, so that fields may have any names.
 */
import type { CollectionDefinition, FieldDefinition } from "@socle/protocol";
import { identifier, type SlowTransactor } from "../../store/database/index.ts";
import { foldedSql } from "../fields/index.ts";
import { foldedTableName, itemTableName, plainColumn, searchColumn, searchTableName, tableName } from "./collection.ts";
import { type CollectionPlan, isSearchChanged, originOf, renamedValuesOf } from "./plan.ts";

/** `_search_text` cuts a text into words; the tokenizer only splits at the separators that `_search_text` left. */
const tokenizer = "unicode61 remove_diacritics 0 categories ''L* N* Co M*''";

/** A kind of side table with a row for each value of a field and the record that has the value. */
interface ValueKind {
  readonly has: (field: FieldDefinition) => boolean;
  /** Not quoted. */
  readonly nameOf: (collection: string, field: string) => string;
  /** The columns of the primary key. */
  readonly key: string;
  /** The parts of the SQL that finds the values of a column. */
  readonly value: (column: string) => string;
  readonly from: (column: string) => string | null;
  /** Whether a column has values. */
  readonly isFilled: (column: string) => string;
}

const valueKinds: readonly ValueKind[] = [
  {
    has: ({ multiple }) => multiple === true,
    nameOf: itemTableName,
    key: "value, record",
    value: () => "_item.value",
    from: (column) => `json_each(${column}) _item`,
    isFilled: (column) => `${column} <> '[]'`,
  },
  {
    has: ({ unique }) => unique === "nocase",
    nameOf: foldedTableName,
    key: "value",
    value: foldedSql,
    from: () => null,
    isFilled: (column) => `${column} IS NOT NULL`,
  },
];

/** The value tables of a collection: of items, and of folded texts. */
export class ValueTables {
  readonly #kinds: readonly KindTables[];

  constructor(tx: SlowTransactor, collection: string) {
    this.#kinds = valueKinds.map((kind) => new KindTables(tx, collection, kind));
  }

  /**
   * Renames, drops and makes the tables, after the columns have changed. Tables of new fields, and of fields that turn to the
   * kind, are filled.
   */
  async restore(plan: CollectionPlan): Promise<void> {
    for (const kind of this.#kinds) await kind.restore(plan);
  }

  /** Takes the tables of a collection with another name. */
  async takeOver(before: CollectionDefinition): Promise<void> {
    for (const kind of this.#kinds) await kind.takeOver(before);
  }

  async drop(definition: CollectionDefinition): Promise<void> {
    for (const kind of this.#kinds) await kind.drop(definition);
  }
}

class KindTables {
  readonly #tx: SlowTransactor;
  readonly #collection: string;
  readonly #kind: ValueKind;
  readonly #records: string;

  constructor(tx: SlowTransactor, collection: string, kind: ValueKind) {
    this.#tx = tx;
    this.#collection = collection;
    this.#kind = kind;
    this.#records = identifier(tableName(collection));
  }

  async restore(plan: CollectionPlan): Promise<void> {
    const { has } = this.#kind;
    const old = new Set((plan.before?.fields ?? []).filter(has).map(({ name }) => name));
    const fields = plan.after.fields.filter(has);
    const origins = new Map(fields.map(({ name }) => [name, oldFieldOf(plan, name, old)]));
    const kept = new Set(origins.values());
    for (const name of old) if (!kept.has(name)) await this.#tx.run(`DROP TABLE ${this.#table(name)}`);
    // Through a name that no field can have: two fields may swap names.
    const moved = [...origins].filter(([name, from]) => from !== null && from !== name);
    for (const [name, from] of moved) await this.#rename(from ?? "", `_new_${name}`);
    for (const [name] of moved) await this.#rename(`_new_${name}`, name);
    for (const { name } of fields) {
      if (origins.get(name) === null) await this.#make(name);
      await this.#watch(name);
    }
  }

  async takeOver({ name, fields }: CollectionDefinition): Promise<void> {
    for (const field of fields.filter(this.#kind.has)) {
      const old = identifier(this.#kind.nameOf(name, field.name));
      await this.#tx.run(`ALTER TABLE ${old} RENAME TO ${this.#table(field.name)}`);
    }
  }

  async drop({ fields }: CollectionDefinition): Promise<void> {
    for (const { name } of fields.filter(this.#kind.has)) await this.#tx.run(`DROP TABLE ${this.#table(name)}`);
  }

  async #make(field: string): Promise<void> {
    const table = this.#table(field);
    await this.#tx.run(
      `CREATE TABLE ${table} (value TEXT NOT NULL, record INTEGER NOT NULL, PRIMARY KEY (${this.#kind.key})) STRICT, WITHOUT ROWID`,
    );
    const column = `${this.#records}.${identifier(plainColumn(field))}`;
    const from = [this.#records, this.#kind.from(column) ?? []].flat().join(", ");
    await this.#tx.run(
      `INSERT INTO ${table} (value, record) SELECT ${this.#kind.value(column)}, ${this.#records}._seq FROM ${from} WHERE ${this.#kind.isFilled(column)}`,
    );
  }

  async #watch(field: string): Promise<void> {
    const { value, from, isFilled } = this.#kind;
    const [table, column] = [this.#table(field), identifier(plainColumn(field))];
    const values = (row: "old" | "new", also = ""): string => {
      const source = from(`${row}.${column}`);
      const list = `SELECT ${value(`${row}.${column}`)}${also}`;
      return source === null ? `${list} WHERE ${isFilled(`${row}.${column}`)}` : `${list} FROM ${source}`;
    };
    const add = `INSERT INTO ${table} (value, record) ${values("new", ", new._seq")};`;
    const remove = `DELETE FROM ${table} WHERE record = old._seq AND value IN (${values("old")});`;
    const trigger = (event: string): string => `CREATE TRIGGER ${this.#trigger(field, event)} AFTER`;
    const [filledNew, filledOld] = [isFilled(`new.${column}`), isFilled(`old.${column}`)];
    await this.#tx.run(`${trigger("insert")} INSERT ON ${this.#records} WHEN ${filledNew} BEGIN ${add} END`);
    await this.#tx.run(
      `${trigger("update")} UPDATE OF ${column} ON ${this.#records} WHEN new.${column} IS NOT old.${column} BEGIN ${remove} ${add} END`,
    );
    await this.#tx.run(`${trigger("delete")} DELETE ON ${this.#records} WHEN ${filledOld} BEGIN ${remove} END`);
  }

  async #rename(from: string, to: string): Promise<void> {
    await this.#tx.run(`ALTER TABLE ${this.#table(from)} RENAME TO ${this.#table(to)}`);
  }

  #table(field: string): string {
    return identifier(this.#kind.nameOf(this.#collection, field));
  }

  #trigger(field: string, event: string): string {
    return identifier(`${this.#kind.nameOf(this.#collection, field)}.${event}`);
  }
}

/**
 * The former name of a field with a table to keep; null for a new field, for a field that turns to the kind, and for a field with
 * other values.
 * @param old the names of the fields that had a table.
 */
function oldFieldOf(plan: CollectionPlan, name: string, old: ReadonlySet<string>): string | null {
  const isNew = plan.steps.some((step) => (step.step === "add" || step.step === "restore") && step.field === name);
  const origin = originOf(plan, name);
  return isNew || !old.has(origin) || renamedValuesOf(plan, name).length > 0 ? null : origin;
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

  /** Takes the search table of a collection with another name. */
  async takeOver(collection: string): Promise<void> {
    const old = identifier(searchTableName(collection));
    await this.#tx.run(`ALTER TABLE ${old} RENAME TO ${identifier(this.#name)}`);
  }

  async drop(): Promise<void> {
    await this.#tx.run(`DROP TABLE ${identifier(this.#name)}`);
  }

  async #fill(columns: readonly string[]): Promise<void> {
    const [name, names] = [identifier(this.#name), columns.map((_, i) => searchColumn(i)).join(", ")];
    const options = `content='', contentless_delete=1, tokenize='${tokenizer}'`;
    await this.#tx.run(`CREATE VIRTUAL TABLE ${name} USING fts5(${names}, ${options})`);
    await this.#read(columns);
  }

  /** Reads the words of all records again. */
  async refill(search: readonly string[]): Promise<void> {
    const name = identifier(this.#name);
    await this.#tx.run(`INSERT INTO ${name} (${name}) VALUES ('delete-all')`);
    await this.#read(search.map(plainColumn));
  }

  async #read(columns: readonly string[]): Promise<void> {
    const [name, names] = [identifier(this.#name), columns.map((_, i) => searchColumn(i)).join(", ")];
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
