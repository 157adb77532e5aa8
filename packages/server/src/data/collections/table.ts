/** Table of a collection: created, changed and dropped by the steps of a migration. */
import { type CollectionDefinition, type FieldDefinition, isView } from "@socle/protocol";
import { identifier, literal, type SlowReader, type SlowTransactor, type Value } from "../../store/database/index.ts";
import { noItems, storedDefault, typeOf } from "../fields/index.ts";
import { ownerColumn } from "../permissions/index.ts";
import {
  derivedColumns,
  type IndexedTable,
  indexColumns,
  isSameIndex,
  plainColumn,
  type TableIndex,
  tableIndexes,
  tableName,
} from "./collection.ts";
import { Counters } from "./counter-table.ts";
import { type DropCause, followRename, giveBack, keepField, keepTable, watchDeletions } from "./dropped-table.ts";
import { type CollectionPlan, originOf, type PlanStep, type ValueRename } from "./plan.ts";
import { SearchTable, ValueTables } from "./side-table.ts";
import { dropTrash, followInTrash } from "./trash-table.ts";

/** The seq of the newest row: about as many rows as the table ever had. */
export async function lastNumber(reader: SlowReader, table: string): Promise<number> {
  const sql = `SELECT max(_seq) AS seq FROM ${identifier(table)}`;
  return (await reader.get<{ seq: number | null }>(sql))?.seq ?? 0;
}

/** The number of records of a collection. */
export async function countRecords(reader: SlowReader, collection: string): Promise<number> {
  const sql = `SELECT count(*) AS n FROM ${identifier(tableName(collection))}`;
  return (await reader.get<{ n: number }>(sql))?.n ?? 0;
}

/** Whether a plan reads or writes every record, rather than the schema alone. */
export function touchesRecords(plan: CollectionPlan): boolean {
  if (isView(plan.after)) return false;
  if (plan.before === null) return plan.base !== undefined;
  const isLight = (step: PlanStep): boolean =>
    ["permissions", "order", "trash", "rename", "renameCollection", "follow", "default", "onDelete"].includes(
      step.step,
    ) ||
    (step.step === "rules" && step.stricter.length === 0) ||
    (step.step === "index" && !step.on);
  return !plan.steps.every(isLight) || makesIndex(plan.before, plan);
}

/** Whether a plan makes an index. A rule may need an index, too: lists by owner search by the owner. */
function makesIndex(before: CollectionDefinition, plan: CollectionPlan): boolean {
  const oldColumns = new Map(
    plan.after.fields.flatMap((field) => {
      const old = indexColumns({ ...field, name: originOf(plan, field.name) });
      return indexColumns(field).map((column, i) => [column, old[i] ?? column] as const);
    }),
  );
  const present = tableIndexes({ definition: before, isChronological: true });
  return tableIndexes({ definition: plan.after, isChronological: true }).some(({ columns, unique }) => {
    const old = { columns: columns.map((column) => oldColumns.get(column) ?? column), unique };
    return !present.some((index) => isSameIndex(index, old));
  });
}

/** The indexes of a table, without SQLite's own. @param sqlName quoted. */
async function presentIndexes(reader: SlowReader, sqlName: string): Promise<(TableIndex & { name: string })[]> {
  // Pragmas as statements: the table-valued form is shadowed by a collection of that name.
  const found: (TableIndex & { name: string })[] = [];
  const list = `PRAGMA index_list(${sqlName})`;
  for (const index of await reader.all<{ name: string; unique: number; origin: string }>(list)) {
    if (index.origin !== "c") continue;
    const columns = await reader.all<{ name: string }>(`PRAGMA index_info(${identifier(index.name)})`);
    found.push({ name: index.name, columns: columns.map(({ name }) => name), unique: index.unique === 1 });
  }
  return found;
}

/** Whether a table lacks indexes: earlier versions made fewer automatic indexes. */
export async function lacksIndexes(reader: SlowReader, indexed: IndexedTable): Promise<boolean> {
  const sqlName = identifier(tableName(indexed.definition.name));
  // A pragma answers from the schema that the connection has read; a query reads a changed schema again.
  await reader.get(`SELECT 1 FROM ${sqlName} LIMIT 1`);
  const present = await presentIndexes(reader, sqlName);
  return !tableIndexes(indexed).every((index) => present.some((other) => isSameIndex(index, other)));
}

/** The value of a field that turns multiple, or single, as SQL of the old column. */
export function turnedSql({ multiple }: FieldDefinition, column: string): string {
  if (multiple !== true) return `json_extract(${column}, '$[0]')`;
  return `CASE WHEN coalesce(${column}, '') = '' THEN ${literal(noItems)} ELSE json_array(${column}) END`;
}

/** The declarations of the generated columns of a field. */
function derivedDeclarations(field: FieldDefinition): string[] {
  const value = identifier(plainColumn(field.name));
  return derivedColumns(field).map(
    ({ name, type, sql }) => `${identifier(name)} ${type} GENERATED ALWAYS AS (${sql(value)}) VIRTUAL`,
  );
}

/** A collection's table, during one migration. Fields are valid; every name is quoted. */
export class Table {
  readonly #tx: SlowTransactor;
  readonly #collection: string;
  readonly #name: string;
  readonly #sqlName: string;
  readonly #by: DropCause;
  readonly #search: SearchTable;
  readonly #values: ValueTables;
  readonly #counters: Counters;

  constructor(tx: SlowTransactor, collection: string, by: DropCause) {
    this.#tx = tx;
    this.#by = by;
    this.#search = new SearchTable(tx, collection);
    this.#values = new ValueTables(tx, collection);
    this.#counters = new Counters(tx, collection);
    this.#collection = collection;
    this.#name = tableName(collection);
    this.#sqlName = identifier(this.#name);
  }

  /** Takes the table away; the records are kept for a restore. */
  async drop(definition: CollectionDefinition): Promise<void> {
    await this.#dropTriggers(this.#name);
    if (definition.search !== undefined) await this.#search.drop();
    await this.#values.drop(definition);
    // A later collection of the name makes indexes of the same names.
    for (const { name } of await presentIndexes(this.#tx, this.#sqlName))
      await this.#tx.run(`DROP INDEX ${identifier(name)}`);
    await keepTable(this.#tx, definition, this.#by);
    await dropTrash(this.#tx, definition.name);
    await this.#counters.drop();
  }

  /**
   * Changes the table. Whether the records allow the change was asked before.
   * @param wasChronological see `Collection`; answers the same of the changed table.
   */
  async apply(plan: CollectionPlan, wasChronological: boolean): Promise<boolean> {
    const { before, base, after } = plan;
    await this.#dropTriggers(tableName(before?.name ?? after.name));
    if (before !== null && before.name !== after.name) await this.#takeOver(before);
    if (before === null) await this.#create(base?.definition ?? after);
    if (base !== undefined) await this.#fill(base);
    const changed = before ?? base?.definition;
    if (changed !== undefined) await this.#change(changed, plan);
    const isChronological = base === undefined ? wasChronological : await this.isChronological();
    await this.reconcileIndexes({ definition: after, isChronological });
    await this.#search.restore(plan);
    await this.#values.restore(plan);
    await watchDeletions(this.#tx, after.name);
    await followInTrash(this.#tx, plan);
    return isChronological;
  }

  /** Reads the whole table; see `Collection`. */
  async isChronological(): Promise<boolean> {
    const times = `SELECT createdAt, lag(createdAt) OVER (ORDER BY _seq) AS before FROM ${this.#sqlName}`;
    return (await this.#tx.get(`SELECT 1 FROM (${times}) WHERE createdAt < before LIMIT 1`)) === null;
  }

  /** Drops the triggers of the searched words and of the items: triggers name columns, which may change. */
  async #dropTriggers(table: string): Promise<void> {
    const sql = "SELECT name FROM sqlite_schema WHERE type = 'trigger' AND tbl_name = ?";
    for (const { name } of await this.#tx.all<{ name: string }>(sql, table))
      await this.#tx.run(`DROP TRIGGER ${identifier(name)}`);
  }

  /** Gives the table and the side tables of a collection with another name to this collection. */
  async #takeOver(before: CollectionDefinition): Promise<void> {
    await this.#tx.run(`ALTER TABLE ${identifier(tableName(before.name))} RENAME TO ${this.#sqlName}`);
    if (before.search !== undefined) await this.#search.takeOver(before.name);
    await this.#values.takeOver(before);
    await this.#counters.takeOver(before.name);
    await followRename(this.#tx, before.name, this.#collection);
  }

  async #create(definition: CollectionDefinition): Promise<void> {
    const columns = definition.fields
      .filter((field) => field.owner !== true)
      .flatMap((field) => [this.#declaration(field), ...derivedDeclarations(field)])
      .map((declaration) => `, ${declaration}`);
    await this.#tx.run(
      `CREATE TABLE ${this.#sqlName} (_seq INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, createdAt TEXT NOT NULL, updatedAt TEXT NOT NULL, ${ownerColumn} TEXT${columns.join("")}) STRICT`,
    );
  }

  /** Makes a record of each row. */
  async #fill({ definition, rows }: NonNullable<CollectionPlan["base"]>): Promise<void> {
    const fields = definition.fields.map(({ name }) => identifier(plainColumn(name)));
    const columns = ["_seq", "id", "createdAt", "updatedAt", ownerColumn, ...fields].join(", ");
    await this.#tx.run(`INSERT INTO ${this.#sqlName} (${columns}) SELECT ${columns} FROM (${rows}) ORDER BY _seq`);
  }

  async #change(before: CollectionDefinition, plan: CollectionPlan): Promise<void> {
    const newField = new Map(plan.after.fields.map((field) => [field.name, field]));
    const oldField = new Map(before.fields.map((field) => [field.name, field]));
    const dropped = before.fields.filter(({ name }) =>
      plan.steps.some((step) => step.step === "drop" && step.field === name),
    );
    // Through a name that no field can have: two fields may swap names, and a field may take the name of a dropped field.
    const moved = plan.after.fields.flatMap(({ name }) => {
      const from = oldField.get(originOf(plan, name));
      const isRenamed = from !== undefined && from.name !== name && from.owner !== true;
      return isRenamed ? [{ from, through: `_new_${name}`, to: name }] : [];
    });
    for (const field of dropped) await this.#dropDerived(field);
    for (const { from, through } of moved) await this.#renameField(from, through);
    for (const field of dropped) {
      const { name } = field;
      if (field.owner === true) continue;
      await keepField(this.#tx, { collection: this.#collection, field }, this.#by);
      await this.#dropColumn(plainColumn(name));
      await this.#counters.drop(name);
    }
    for (const { from, through, to } of moved) await this.#renameField({ ...from, name: through }, to);
    for (const step of plan.steps) {
      const field = "field" in step ? newField.get(step.field) : undefined;
      if (field === undefined) continue;
      const old = oldField.get(originOf(plan, field.name));
      await this.#applyStep(plan, step, { old, field });
    }
  }

  /** SQLite cannot change the type of a column, so a new column takes the values and the name. */
  async #changeType(field: FieldDefinition): Promise<void> {
    const name = `_new_${field.name}`;
    const column = plainColumn(field.name);
    await this.#addColumn(this.#declaration({ ...field, name }));
    await this.#tx.run(`UPDATE ${this.#sqlName} SET ${identifier(name)} = ${identifier(column)}`);
    await this.#dropColumn(column);
    await this.#rename(name, column);
  }

  /** A column of positions is computed, not stored: another order is another column, and the indexes are made anew. */
  async #changeOrder(
    old: FieldDefinition | undefined,
    field: FieldDefinition,
    renamed: readonly ValueRename[] = [],
  ): Promise<void> {
    await this.#dropDerived(old && { ...old, name: field.name });
    if (renamed.length > 0) await this.#renameValues(field, renamed);
    for (const declaration of derivedDeclarations(field)) await this.#addColumn(declaration);
  }

  /** Puts the new texts into the records. No text is both an old text and a new text, so the order does not matter. */
  async #renameValues({ name, multiple }: FieldDefinition, renamed: readonly ValueRename[]): Promise<void> {
    const column = `${this.#sqlName}.${identifier(plainColumn(name))}`;
    const cases = renamed.map(({ from, to }) => ` WHEN ${literal(from)} THEN ${literal(to)}`).join("");
    const list = renamed.map(({ from }) => literal(from)).join(", ");
    const next = (text: string): string => `CASE ${text}${cases} ELSE ${text} END`;
    const items = `json_each(${column}) _item`;
    const [value, condition] =
      multiple === true
        ? [
            `(SELECT json_group_array(${next("_item.value")} ORDER BY _item.key) FROM ${items})`,
            `EXISTS (SELECT 1 FROM ${items} WHERE _item.value IN (${list}))`,
          ]
        : [next(column), `${column} IN (${list})`];
    await this.#tx.run(`UPDATE ${this.#sqlName} SET ${identifier(plainColumn(name))} = ${value} WHERE ${condition}`);
  }

  async #dropDerived(field: FieldDefinition | undefined): Promise<void> {
    for (const { name } of field === undefined ? [] : derivedColumns(field)) await this.#dropColumn(name);
  }

  /** Renames the columns and the counters of a field. */
  async #renameField(field: FieldDefinition, to: string): Promise<void> {
    await this.#rename(plainColumn(field.name), plainColumn(to));
    const derived = derivedColumns({ ...field, name: to });
    for (const [i, { name }] of derivedColumns(field).entries()) await this.#rename(name, derived[i]?.name ?? name);
    if (field.sequence !== undefined) await this.#counters.rename(field.name, to);
  }

  async #applyStep(
    plan: CollectionPlan,
    step: PlanStep,
    { old, field }: { old: FieldDefinition | undefined; field: FieldDefinition },
  ): Promise<void> {
    const plain = plainColumn(field.name);
    const column = identifier(plain);
    const setAll = (value: string, ...values: Value[]): Promise<unknown> =>
      this.#tx.run(`UPDATE ${this.#sqlName} SET ${column} = ${value}`, ...values);
    switch (step.step) {
      case "add":
        if (field.owner === true) return;
        for (const declaration of [this.#declaration(field), ...derivedDeclarations(field)])
          await this.#addColumn(declaration);
        if (step.default !== undefined) await setAll("?", storedDefault(field, { now: this.#by.at, userId: null }));
        return;
      case "owner":
        if (step.on) {
          // The creator stays the owner of a record with an empty field.
          await this.#tx.run(`UPDATE ${this.#sqlName} SET ${ownerColumn} = coalesce(${column}, ${ownerColumn})`);
          await this.#dropColumn(plain);
        } else {
          await this.#addColumn(this.#declaration(field));
          await setAll(ownerColumn);
        }
        return;
      case "sequence":
        return step.on ? this.#counters.begin(plan.after, field) : this.#counters.drop(field.name);
      case "type":
        return this.#changeType(field);
      case "restore":
        return giveBack(this.#tx, this.#collection, { field, n: step.n });
      case "multiple":
        // A value becomes the only item, or the only item the value. Empty values, which may repeat in a unique field, become equal arrays.
        await this.#dropIndexes(plain);
        await setAll(turnedSql(field, `${this.#sqlName}.${column}`));
        if (plan.steps.some((each) => each.step === "values" && each.field === field.name)) return;
        return this.#changeOrder(old, field);
      case "values":
        for (const rename of step.renamed ?? []) await this.#counters.renameValue(plan.after, field.name, rename);
        return this.#changeOrder(old, field, step.renamed);
      default:
    }
  }

  async #addColumn(declaration: string): Promise<void> {
    await this.#tx.run(`ALTER TABLE ${this.#sqlName} ADD COLUMN ${declaration}`);
  }

  #declaration(field: FieldDefinition): string {
    const standing = field.multiple === true ? ` DEFAULT ${literal(noItems)}` : "";
    return `${identifier(plainColumn(field.name))} ${typeOf(field).column}${standing}`;
  }

  async #rename(from: string, to: string): Promise<void> {
    await this.#tx.run(`ALTER TABLE ${this.#sqlName} RENAME COLUMN ${identifier(from)} TO ${identifier(to)}`);
  }

  async #dropColumn(column: string): Promise<void> {
    await this.#dropIndexes(column);
    await this.#tx.run(`ALTER TABLE ${this.#sqlName} DROP COLUMN ${identifier(column)}`);
  }

  /** Drops the indexes with a column, which `reconcileIndexes` makes anew. */
  async #dropIndexes(column: string): Promise<void> {
    for (const { name, columns } of await presentIndexes(this.#tx, this.#sqlName))
      if (columns.some((each) => each.toLowerCase() === column.toLowerCase()))
        await this.#tx.run(`DROP INDEX ${identifier(name)}`);
  }

  async reconcileIndexes(indexed: IndexedTable): Promise<void> {
    const wanted = tableIndexes(indexed);
    const present = await presentIndexes(this.#tx, this.#sqlName);
    for (const index of present)
      if (!wanted.some((other) => isSameIndex(index, other)))
        await this.#tx.run(`DROP INDEX ${identifier(index.name)}`);
    for (const index of wanted) {
      if (present.some((other) => isSameIndex(index, other))) continue;
      const unique = index.unique ? "UNIQUE " : "";
      const name = identifier(await this.#freeIndexName(index.columns));
      const columns = index.columns.map(identifier).join(", ");
      await this.#tx.run(`CREATE ${unique}INDEX ${name} ON ${this.#sqlName} (${columns})`);
    }
  }

  /** After a rename, an index keeps the name, made from the old names of the fields. */
  async #freeIndexName(columns: readonly string[]): Promise<string> {
    const base = [this.#name, ...columns].join(".");
    for (let n = 1; ; n++) {
      const name = n === 1 ? base : `${base}.${n}`;
      const taken = await this.#tx.get("SELECT 1 FROM sqlite_schema WHERE name = ? COLLATE NOCASE", name);
      if (taken === null) return name;
    }
  }
}
