/**
 * Side tables of a collection, made and changed by migrations; triggers keep the tables in the statement of each change.
 *
 * An item table holds the items of a multiple field, found by value: a row is an item and the record that holds the item.
 * The search table is an FTS5 index without content over the words of the searched fields. The columns are named by
 * position, so that fields may have any names.
 */
import type { CollectionDefinition, FieldDefinition } from "@socle/protocol";
import { identifier, type SlowTransactor } from "../../store/database/index.ts";
import { itemTableName, plainColumn, searchColumn, searchTableName, tableName } from "./collection.ts";
import { type CollectionPlan, isSearchChanged, originOf, renamedValuesOf } from "./plan.ts";

/** `_search_text` cuts a text into words; the tokenizer only splits at the separators that `_search_text` left. */
const tokenizer = "unicode61 remove_diacritics 0 categories ''L* N* Co M*''";

function isMultiple({ multiple }: FieldDefinition): boolean {
  return multiple === true;
}

export class ItemTables {
  readonly #tx: SlowTransactor;
  readonly #collection: string;
  readonly #records: string;

  constructor(tx: SlowTransactor, collection: string) {
    this.#tx = tx;
    this.#collection = collection;
    this.#records = identifier(tableName(collection));
  }

  /**
   * Renames, drops and makes the item tables, after the columns have changed. Tables of new fields, and of fields that turn
   * multiple, are filled.
   */
  async restore(plan: CollectionPlan): Promise<void> {
    const fields = plan.after.fields.filter(isMultiple);
    const origins = new Map(fields.map(({ name }) => [name, oldFieldOf(plan, name)]));
    const kept = new Set(origins.values());
    for (const { name } of plan.before?.fields.filter(isMultiple) ?? [])
      if (!kept.has(name)) await this.#tx.run(`DROP TABLE ${this.#table(name)}`);
    // Through a name that no field can have: two fields may swap names.
    const moved = [...origins].filter(([name, old]) => old !== null && old !== name);
    for (const [name, old] of moved) await this.#rename(old ?? "", `_new_${name}`);
    for (const [name] of moved) await this.#rename(`_new_${name}`, name);
    for (const { name } of fields) {
      if (origins.get(name) === null) await this.#make(name);
      await this.#watch(name);
    }
  }

  /** Takes the item tables of a collection with another name. */
  async takeOver({ name, fields }: CollectionDefinition): Promise<void> {
    for (const field of fields.filter(isMultiple)) {
      const old = identifier(itemTableName(name, field.name));
      await this.#tx.run(`ALTER TABLE ${old} RENAME TO ${this.#table(field.name)}`);
    }
  }

  async drop({ fields }: CollectionDefinition): Promise<void> {
    for (const { name } of fields.filter(isMultiple)) await this.#tx.run(`DROP TABLE ${this.#table(name)}`);
  }

  async #make(field: string): Promise<void> {
    const table = this.#table(field);
    await this.#tx.run(
      `CREATE TABLE ${table} (value TEXT NOT NULL, record INTEGER NOT NULL, PRIMARY KEY (value, record)) STRICT, WITHOUT ROWID`,
    );
    const column = `${this.#records}.${identifier(plainColumn(field))}`;
    await this.#tx.run(
      `INSERT INTO ${table} (value, record) SELECT _item.value, ${this.#records}._seq FROM ${this.#records}, json_each(${column}) _item`,
    );
  }

  async #watch(field: string): Promise<void> {
    const [table, column] = [this.#table(field), identifier(plainColumn(field))];
    const add = `INSERT INTO ${table} (value, record) SELECT value, new._seq FROM json_each(new.${column});`;
    const remove = `DELETE FROM ${table} WHERE record = old._seq AND value IN (SELECT value FROM json_each(old.${column}));`;
    const trigger = (event: string): string => `CREATE TRIGGER ${this.#trigger(field, event)} AFTER`;
    await this.#tx.run(`${trigger("insert")} INSERT ON ${this.#records} WHEN new.${column} <> '[]' BEGIN ${add} END`);
    await this.#tx.run(
      `${trigger("update")} UPDATE OF ${column} ON ${this.#records} WHEN new.${column} IS NOT old.${column} BEGIN ${remove} ${add} END`,
    );
    await this.#tx.run(
      `${trigger("delete")} DELETE ON ${this.#records} WHEN old.${column} <> '[]' BEGIN ${remove} END`,
    );
  }

  async #rename(from: string, to: string): Promise<void> {
    await this.#tx.run(`ALTER TABLE ${this.#table(from)} RENAME TO ${this.#table(to)}`);
  }

  #table(field: string): string {
    return identifier(itemTableName(this.#collection, field));
  }

  #trigger(field: string, event: string): string {
    return identifier(`${itemTableName(this.#collection, field)}.${event}`);
  }
}

/** The former name of a field with an item table to keep; null for a new field, and for a field that turns multiple or has other items. */
function oldFieldOf(plan: CollectionPlan, name: string): string | null {
  const isNew = plan.steps.some(
    (step) => (step.step === "add" || step.step === "multiple" || step.step === "restore") && step.field === name,
  );
  return plan.before === null || isNew || renamedValuesOf(plan, name).length > 0 ? null : originOf(plan, name);
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
