/**
 * Item tables: for each multiple field of a collection, the items of its records, found by their value. A row is an item and the record
 * that holds it; the way from a record to its items is its own JSON. Triggers keep the table in the statement of each change.
 */
import type { CollectionDefinition, FieldDefinition } from "@socle/protocol";
import { identifier, type Transactor } from "../database/index.ts";
import { plainColumn, tableName } from "./collection.ts";
import { type CollectionPlan, originOf } from "./plan.ts";

/** The unquoted name. No collection's table begins like it, and no column has a dot. */
export function itemTableName(collection: string, field: string): string {
  return `_items_${tableName(collection)}.${plainColumn(field)}`;
}

/** The problems of indexes and searches by multiple fields, which have an index of their items and no words; each a sentence. */
export function multipleProblems({ fields, indexes = [], search = [] }: CollectionDefinition): string[] {
  const indexed = new Set(indexes.flatMap((index) => (Array.isArray(index) ? index : index.fields)));
  return fields.filter(isMultiple).flatMap(({ name }) => {
    const problems: string[] = [];
    if (indexed.has(name))
      problems.push(`field "${name}" is multiple: its items have an index, and no other can contain it`);
    if (search.includes(name))
      problems.push(`field "${name}" is multiple and cannot be searched: filters find its items`);
    return problems;
  });
}

function isMultiple({ multiple }: FieldDefinition): boolean {
  return multiple === true;
}

export class ItemTables {
  readonly #tx: Transactor;
  readonly #collection: string;
  readonly #records: string;

  constructor(tx: Transactor, collection: string) {
    this.#tx = tx;
    this.#collection = collection;
    this.#records = identifier(tableName(collection));
  }

  /** Before columns change, which triggers name. */
  async release(before: CollectionDefinition | null): Promise<void> {
    for (const { name } of before?.fields.filter(isMultiple) ?? [])
      for (const event of ["insert", "update", "delete"])
        await this.#tx.run(`DROP TRIGGER ${this.#trigger(name, event)}`);
  }

  /** Once the table is as the plan says: tables follow renames, and those of fields that are new, or newly multiple, are filled. */
  async restore(plan: CollectionPlan): Promise<void> {
    const fields = plan.after.fields.filter(isMultiple);
    const origins = new Map(fields.map(({ name }) => [name, oldFieldOf(plan, name)]));
    const kept = new Set(origins.values());
    for (const { name } of plan.before?.fields.filter(isMultiple) ?? [])
      if (!kept.has(name)) await this.#tx.run(`DROP TABLE ${this.#table(name)}`);
    // Through a name that no field can have: two fields may swap their names.
    const moved = [...origins].filter(([name, old]) => old !== null && old !== name);
    for (const [name, old] of moved) await this.#rename(old ?? "", `_new_${name}`);
    for (const [name] of moved) await this.#rename(`_new_${name}`, name);
    for (const { name } of fields) {
      if (origins.get(name) === null) await this.#make(name);
      await this.#watch(name);
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

/** The name that a multiple field had when it was multiple before; null where it is new, or newly multiple. */
function oldFieldOf(plan: CollectionPlan, name: string): string | null {
  const isNew = plan.steps.some((step) => (step.step === "add" || step.step === "multiple") && step.field === name);
  return plan.before === null || isNew ? null : originOf(plan, name);
}
