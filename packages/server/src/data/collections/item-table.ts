/**
 * Item tables: for each multiple field of a collection, the items of the records, found by value. A row is an item and the
 * record that holds the item; the record's JSON leads to the items. Triggers keep the table in the statement of each
 * change.
 */
import type { CollectionDefinition, FieldDefinition } from "@socle/protocol";
import { identifier, type SlowTransactor } from "../../store/database/index.ts";
import { plainColumn, tableName } from "./collection.ts";
import { type CollectionPlan, originOf } from "./plan.ts";

/** The unquoted name. No table of a collection begins with `_items_`, and no column has a dot. */
export function itemTableName(collection: string, field: string): string {
  return `_items_${tableName(collection)}.${plainColumn(field)}`;
}

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

  /** Before columns change, which triggers name. */
  async release(before: CollectionDefinition | null): Promise<void> {
    for (const { name } of before?.fields.filter(isMultiple) ?? [])
      for (const event of ["insert", "update", "delete"])
        await this.#tx.run(`DROP TRIGGER ${this.#trigger(name, event)}`);
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

/** The former name of a field that was multiple before; null for a new field, or a field that turns multiple. */
function oldFieldOf(plan: CollectionPlan, name: string): string | null {
  const isNew = plan.steps.some((step) => (step.step === "add" || step.step === "multiple") && step.field === name);
  return plan.before === null || isNew ? null : originOf(plan, name);
}
