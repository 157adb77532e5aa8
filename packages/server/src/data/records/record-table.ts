/** Record tables: the SQL of a collection's records, and values derived from the definition once for all requests. */
import {
  type FieldDefinition,
  isAccountField,
  isUnique,
  isView,
  type JsonValue,
  type StoredRecord,
  versionOf,
} from "@socle/protocol";
import { AppError, BoundedMap, type JsonText, type Principal, quote } from "../../base/kernel/index.ts";
import { identifier, type Value } from "../../store/database/index.ts";
import {
  type Collection,
  columnName,
  columnsOf,
  derivedColumns,
  foldedTableName,
  indexesOf,
  itemTableName,
} from "../collections/index.ts";
import { type CheckedValue, checkOf, decode, foldedSql, needsDecoding, scopeOf, typeOf } from "../fields/index.ts";
import { type FieldLimits, ownerColumn } from "../permissions/index.ts";

const idPattern = /^rec_[0-9a-f-]{36}$/;
const anyIdPattern = /^(?:rec|usr)_[0-9a-f-]{36}$/;

/** Whether a text has the form of the id of a record that is no user. */
export function isRecordId(text: string): boolean {
  return idPattern.test(text);
}

/** Whether a text has the form of the id of a record or a user. */
export function isAnyRecordId(text: string): boolean {
  return anyIdPattern.test(text);
}

export function missingRecord(collection: Collection, id: string): AppError {
  return new AppError("not_found", `There is no record ${quote(id)} in "${collection.name}".`);
}

/** A record's JSON, and the `ETag` of the answer. */
export interface TaggedRecord {
  readonly json: JsonText;
  readonly tag: string;
}

/** A row: the record's own columns and the hidden owner. */
export interface OwnedRow {
  readonly record: StoredRecord;
  readonly owner: string | null;
}

const owned = "_owned_by";
/** The most update statements in memory, one for each set of fields. */
const maxUpdates = 100;

export type PlacedField = readonly [position: number, field: FieldDefinition];

/** A unique key: the value of a unique field, or the values of a unique index. */
export interface UniqueKey {
  readonly fields: readonly string[];
  /**
   * Finds another record with the same key. Parameters: for each field the value and the id of the record, whose stored
   * value replaces a null value; then the id.
   */
  readonly duplicate: string;
}

/** The fields that every record has beside the fields of the definition, in the order of a record. */
export const systemFields: readonly string[] = ["id", "createdAt", "updatedAt"];

export class RecordTable {
  readonly collection: Collection;
  readonly fields: readonly FieldDefinition[];
  readonly positions: ReadonlyMap<string, number>;
  /** The names of the fields, in order, after the system fields. */
  readonly names: readonly string[];
  /** The field that shows the owner; undefined without an owner field. */
  readonly ownerField: PlacedField | undefined;
  readonly references: readonly PlacedField[];
  readonly hasFiles: boolean;
  readonly defaults: readonly PlacedField[];
  readonly sequences: readonly PlacedField[];
  /** The fields that follow the account of a user: no part of a body. */
  readonly accountFields: ReadonlySet<string>;
  readonly checks: readonly ((value: unknown) => CheckedValue)[];
  readonly uniqueKeys: readonly UniqueKey[];
  /** The fields with a separate column, in the order of `insert`. */
  readonly storedFields: readonly FieldDefinition[];
  readonly #decoded: readonly FieldDefinition[];
  /** The quoted SQL name. */
  readonly sqlName: string;
  readonly #columns: string;
  readonly insert: string;
  readonly delete: string;
  readonly byId: string;
  readonly byIdWithOwner: string;
  /** The beginning of `byIdWithOwner`. */
  readonly #withOwner: string;
  readonly exists: string;
  /** The ids of a JSON array that no record has, as `value`. */
  readonly missing: string;
  /** The owner of a record, named as in `OwnedRow`. */
  readonly owner: string;
  /** The record that was stored last. */
  readonly newest: string;
  /** The order of a list without `sort`, as SQL. */
  readonly newestFirst: string;
  /** The seq of a record, which gives the order of creation. Parameter: the id. */
  readonly seqOfId: string;
  /** The number of records, as `n`. */
  readonly count: string;
  readonly #longFields: readonly string[];
  /** The approximate bytes of a record's JSON without the long fields. */
  readonly #leastWeight: number;
  /** Statements of updates, by the names of the fields. */
  readonly #updates = new BoundedMap<string, string>(maxUpdates);

  constructor(collection: Collection) {
    this.collection = collection;
    this.fields = collection.definition.fields;
    this.positions = new Map(this.fields.map((field, position) => [field.name, position]));
    this.names = [...(isView(collection.definition) ? ["id"] : systemFields), ...this.positions.keys()];
    const placed: readonly PlacedField[] = [...this.fields.entries()];
    this.ownerField = placed.find(([, field]) => field.owner === true);
    this.references = placed.filter(([, field]) => typeOf(field).reference !== null);
    this.hasFiles = this.references.some(([, field]) => typeOf(field).reference === "file");
    this.defaults = placed.filter(([, field]) => field.default !== undefined);
    this.sequences = placed.filter(([, field]) => field.sequence !== undefined);
    this.accountFields = new Set([...this.positions.keys()].filter((name) => isAccountField(collection.name, name)));
    this.checks = this.fields.map((field) => checkOf(field, collection.patterns.get(field.name)));
    this.storedFields = this.fields.filter((field) => field.owner !== true);
    this.#decoded = this.fields.filter(needsDecoding);
    this.sqlName = identifier(collection.table);
    this.uniqueKeys = this.#uniqueKeys();
    const selected = this.fields.map((field) => `${this.#column(field)} AS ${identifier(field.name)}`);
    this.#columns = [...systemFields, ...selected].join(", ");
    const stored = this.storedFields.map((field) => identifier(columnName(field)));
    const inserted = [...systemFields, ownerColumn, ...stored];
    this.insert = `INSERT INTO ${this.sqlName} (${inserted.join(", ")}) VALUES (${inserted.map(() => "?").join(", ")})`;
    this.delete = `DELETE FROM ${this.sqlName} WHERE id = ?`;
    this.byId = `SELECT ${this.#columns} FROM ${this.sqlName} WHERE id = ?`;
    this.#withOwner = `SELECT ${this.#columns}, ${ownerColumn} AS ${owned} FROM ${this.sqlName} WHERE`;
    this.byIdWithOwner = `${this.#withOwner} id = ?`;
    this.newest = `SELECT id, createdAt FROM ${this.sqlName} ORDER BY _seq DESC LIMIT 1`;
    const seq = `${this.sqlName}._seq DESC`;
    this.newestFirst = collection.isChronological ? seq : `${this.sqlName}.createdAt DESC, ${seq}`;
    this.owner = `SELECT ${ownerColumn} AS owner FROM ${this.sqlName} WHERE id = ?`;
    this.exists = `SELECT 1 FROM ${this.sqlName} WHERE id = ?`;
    this.missing = this.missingOf("1");
    this.count = `SELECT count(*) AS n FROM ${this.sqlName}`;
    this.seqOfId = `SELECT _seq AS seq FROM ${this.sqlName} WHERE id = ?`;
    this.#longFields = this.fields.filter((field) => typeOf(field).mayBeLong(field)).map(({ name }) => name);
    this.#leastWeight = this.fields.reduce((weight, { name }) => weight + name.length + 20, 150);
  }

  /** SQLite takes an unknown quoted name for a string, unless the name of the table stands before the name. */
  #column(field: FieldDefinition): string {
    return `${this.sqlName}.${identifier(columnName(field))}`;
  }

  /** The field of a name; null for an unknown name. */
  field(name: string): FieldDefinition | null {
    return this.fields[this.positions.get(name) ?? -1] ?? null;
  }

  /** The unquoted column of a field, or of a system field. */
  columnName(name: string): string {
    const field = this.field(name);
    return field === null ? name : columnName(field);
  }

  /** The column of a field, or of a system field, as SQL. */
  column(name: string): string {
    const field = this.field(name);
    return field === null ? `${this.sqlName}.${identifier(name)}` : this.#column(field);
  }

  /**
   * The ids of a JSON array whose records do not exist or do not fulfil a condition, as `value`. Parameters: the array,
   * then the parameters of the condition.
   */
  missingOf(condition: string): string {
    return `SELECT _item.value FROM json_each(?) _item WHERE NOT EXISTS (SELECT 1 FROM ${this.sqlName} WHERE ${this.sqlName}.id = _item.value AND (${condition}))`;
  }

  /** A row if the record of an id fulfils a condition. Parameters: the id, then the parameters of the condition. */
  fulfils(condition: string): string {
    return `SELECT 1 FROM ${this.sqlName} WHERE ${this.sqlName}.id = ? AND (${condition})`;
  }

  /** Changes the given columns and `updatedAt`. Parameters: the values, the time, the id. */
  update(fields: readonly FieldDefinition[]): string {
    const names = fields.map(({ name }) => name).join();
    let sql = this.#updates.get(names);
    if (sql === undefined) {
      const set = fields.map((field) => `${identifier(columnName(field))} = ?, `).join("");
      sql = `UPDATE ${this.sqlName} SET ${set}updatedAt = ? WHERE id = ?`;
      this.#updates.set(names, sql);
    }
    return sql;
  }

  /** Puts values into some columns, and leaves `updatedAt`. Parameters: the values, the id. */
  settle(fields: readonly FieldDefinition[]): string {
    const set = fields.map((field) => `${identifier(columnName(field))} = ?`).join(", ");
    return `UPDATE ${this.sqlName} SET ${set} WHERE id = ?`;
  }

  /**
   * The records with a field that holds an id, alone or in an array, in the order of creation. Parameters: the id, the seq before
   * the first record.
   */
  pointing(field: string, limit: number): string {
    const seq = `${this.sqlName}._seq`;
    if (this.field(field)?.multiple === true) {
      const items = identifier(itemTableName(this.collection.name, field));
      return `SELECT ${seq} AS seq, ${this.sqlName}.id FROM ${items} AS _item, ${this.sqlName} WHERE _item.value = ? AND _item.record > ? AND ${seq} = _item.record ORDER BY _item.record LIMIT ${limit}`;
    }
    return `SELECT ${seq} AS seq, id FROM ${this.sqlName} WHERE ${this.column(field)} = ? AND ${seq} > ? ORDER BY ${seq} LIMIT ${limit}`;
  }

  /** The record, as `byIdWithOwner`, with a value of a unique field, or with an id. Parameter: the value. */
  rowBy(name: string): string {
    const field = this.field(name);
    if (field?.unique === "nocase") {
      const folded = identifier(foldedTableName(this.collection.name, name));
      return `${this.#withOwner} _seq = (SELECT record FROM ${folded} WHERE value = ${foldedSql("?")})`;
    }
    // The index of a field with named values is by the positions of the values.
    const [order] = field === null ? [] : derivedColumns(field);
    if (order === undefined) return `${this.#withOwner} ${this.column(name)} = ?`;
    return `${this.#withOwner} ${this.sqlName}.${identifier(order.name)} = ${order.sql("?")}`;
  }

  #uniqueKeys(): UniqueKey[] {
    const { definition } = this.collection;
    const unique = this.fields.filter(isUnique).map(({ name }) => [name]);
    const numbered = this.fields
      .filter((field) => field.sequence !== undefined)
      .map((field) => [...scopeOf(field), field.name]);
    const indexed = indexesOf(definition).filter((index) => index.unique);
    const keys = new Map(
      [...unique, ...numbered, ...indexed.map(({ fields }) => fields)].map((fields) => [fields.join(), fields]),
    );
    return [...keys.values()].map((fields) => {
      const [only = ""] = fields;
      if (fields.length === 1 && this.field(only)?.unique === "nocase") return this.#foldedKey(only);
      const conditions = columnsOf(definition, fields).map((name, i) => {
        const column = identifier(name);
        const own = `SELECT own.${column} FROM ${this.sqlName} AS own WHERE own.id = ?`;
        const field = this.field(fields[i] ?? "");
        const [order] = field === null ? [] : derivedColumns(field);
        const given = order?.sql("?") ?? "?";
        return `${this.sqlName}.${column} = coalesce(${given}, (${own})) AND `;
      });
      return { fields, duplicate: `SELECT 1 FROM ${this.sqlName} WHERE ${conditions.join("")}id <> ?` };
    });
  }

  #foldedKey(name: string): UniqueKey {
    const folded = identifier(foldedTableName(this.collection.name, name));
    const own = (column: string): string => `(SELECT own.${column} FROM ${this.sqlName} AS own WHERE own.id = ?)`;
    const text = foldedSql(`coalesce(?, ${own(identifier(this.columnName(name)))})`);
    // A new record has no seq yet.
    const duplicate = `SELECT 1 FROM ${folded} WHERE value = ${text} AND record IS NOT ${own("_seq")}`;
    return { fields: [name], duplicate };
  }

  /**
   * The newest records, at most `limit` (in the text: a literal is measurably quicker). Parameter: the owner if
   * `byOwner`; the `+` before the parameter spares a new plan for each value, see `parameter` of expressions.
   */
  firstPage(byOwner: boolean, limit: number): string {
    const where = byOwner ? ` WHERE ${ownerColumn} = +?` : "";
    return `SELECT ${this.#columns} FROM ${this.sqlName}${where} ORDER BY ${this.newestFirst} LIMIT ${limit}`;
  }

  /** The records that were stored before a place, the last first, at most `limit`. Parameters: the place, the owner if `byOwner`. */
  nextPage(byOwner: boolean, limit: number): string {
    const where = byOwner ? ` AND ${ownerColumn} = +?` : "";
    return `SELECT ${this.#columns} FROM ${this.sqlName} WHERE _seq < ?${where} ORDER BY _seq DESC LIMIT ${limit}`;
  }

  /** The oldest records behind a place, at most `limit`. Parameter: the place. */
  oldestAfter(limit: number): string {
    return `SELECT ${this.#columns} FROM ${this.sqlName} WHERE _seq > ? ORDER BY _seq LIMIT ${limit}`;
  }

  /** A row if the state of a record fulfils a condition. Parameters: `stateValues`, then the parameters of the condition. */
  stateFulfils(alias: string, condition: string): string {
    return `SELECT 1 FROM ${this.state(alias)} WHERE ${condition}`;
  }

  /** Expressions over the state of a record. Parameters: the parameters of the expressions, then `stateValues`. */
  selectState(alias: string, columns: readonly string[]): string {
    return `SELECT ${columns.join(", ")} FROM ${this.state(alias)}`;
  }

  /** The generated columns: the quoted name, and the value as SQL of the columns. */
  #derived(): { name: string; type: string; value: string }[] {
    return this.storedFields.flatMap((field) =>
      derivedColumns(field).map(({ name, type, sql }) => {
        return { name: identifier(name), type, value: sql(identifier(columnName(field))) };
      }),
    );
  }

  /** A row with the values of a record, as a table with that alias. Parameters: `stateValues`. */
  state(alias: string): string {
    const columns = [...systemFields, ownerColumn, ...this.storedFields.map(columnName)];
    const given = columns.map((column) => `? AS ${identifier(column)}`);
    const derived = this.#derived().map(({ name, value }) => `${value} AS ${name}`);
    const state = `SELECT ${given.join(", ")}`;
    return derived.length === 0
      ? `(${state}) AS ${alias}`
      : `(SELECT *, ${derived.join(", ")} FROM (${state})) AS ${alias}`;
  }

  /**
   * The beginning of a statement in which `_state` is a row with the values of a record. Parameters: `stateValues`.
   * @param isStored whether the collection's table has these values in this statement, too, in place of the record's row: for a
   * record that points to itself.
   */
  givenState(isStored: boolean): string {
    const state = `WITH _state AS (SELECT * FROM ${this.state("_given")})`;
    if (!isStored) return state;
    const stored = [...systemFields, ownerColumn, ...this.storedFields.map(columnName)].map(identifier);
    const columns = [...stored, ...this.#derived().map(({ name }) => name)].join(", ");
    const others = `SELECT ${columns}, _seq, _seq AS rowid FROM main.${this.sqlName} WHERE id <> (SELECT id FROM _state)`;
    const seq = `coalesce((SELECT _seq FROM main.${this.sqlName} WHERE id = (SELECT id FROM _state)), -1)`;
    const items = this.storedFields.flatMap((field) => {
      if (field.multiple !== true) return [];
      const table = identifier(itemTableName(this.collection.name, field.name));
      const held = `SELECT ${seq}, value FROM _state, json_each(_state.${identifier(columnName(field))})`;
      return [`${table} AS (SELECT record, value FROM main.${table} WHERE record <> ${seq} UNION ALL ${held})`];
    });
    const own = `${this.sqlName} AS (${others} UNION ALL SELECT ${columns}, ${seq}, ${seq} FROM _state)`;
    return [state, own, ...items].join(", ");
  }

  /**
   * The parts of a WITH by which the table has deleted records, too. Parameter: a JSON array of `stateValues`. With the types of the
   * columns, SQLite reads both parts of the table by the indexes.
   */
  withDeleted(): string {
    const deleted = identifier(`_deleted_${this.collection.table}`);
    const texts = [...systemFields, ownerColumn].map((name) => [name, "TEXT"] as const);
    const types = [...texts, ...this.storedFields.map((field) => [columnName(field), typeOf(field).column] as const)];
    const given = types.map(([name, type], i) => `CAST(value ->> ${i} AS ${type}) AS ${identifier(name)}`);
    const derived = this.#derived();
    const rows = `SELECT CAST(-2 - key AS INTEGER) AS _seq, ${given.join(", ")} FROM json_each(?)`;
    const columns = types.map(([name]) => identifier(name));
    const items = this.storedFields.flatMap((field) => {
      if (field.multiple !== true) return [];
      const table = identifier(itemTableName(this.collection.name, field.name));
      const held = `SELECT _seq, _item.value FROM ${deleted}, json_each(${deleted}.${identifier(columnName(field))}) _item`;
      return [`${table} AS (SELECT record, value FROM main.${table} UNION ALL ${held})`];
    });
    const stored = [...columns, ...derived.map(({ name }) => name), "_seq", "_seq AS rowid"].join(", ");
    const gone = [...columns, ...derived.map(({ type, value }) => `CAST(${value} AS ${type})`), "_seq", "_seq"].join(
      ", ",
    );
    const both = `SELECT ${stored} FROM main.${this.sqlName} UNION ALL SELECT ${gone} FROM ${deleted}`;
    return [`${deleted} AS (${rows})`, `${this.sqlName} AS NOT MATERIALIZED (${both})`, ...items].join(", ");
  }

  /** The stored values of a record, in memory, with the owner. */
  stateValues(record: Readonly<Record<string, unknown>>, owner: string | null): Value[] {
    const text = (name: string): string | null => {
      const value = record[name];
      return typeof value === "string" ? value : null;
    };
    const stored = this.storedFields.map((field): Value => {
      const value = record[field.name] ?? null;
      return value === null ? null : (typeOf(field).encode(value) ?? null);
    });
    return [text("id"), text("createdAt"), text("updatedAt"), owner, ...stored];
  }

  /** Stored values, by the positions of the fields, in the form of a record; undefined values are left out. */
  decoded(values: readonly (Value | undefined)[]): Record<string, JsonValue> {
    const fields: Record<string, JsonValue> = {};
    for (const [position, field] of this.fields.entries()) {
      const value = values[position];
      if (value !== undefined) fields[field.name] = this.#decoded.includes(field) ? decode(field, value) : value;
    }
    return fields;
  }

  /** A copy of a record with other values: see `decoded`. */
  changed(record: StoredRecord, values: readonly (Value | undefined)[]): StoredRecord {
    return Object.assign({ ...record }, this.decoded(values));
  }

  /** The approximate bytes of a record's JSON, from the row. */
  weightOf(row: StoredRecord): number {
    let weight = this.#leastWeight;
    for (const name of this.#longFields) {
      const value = row[name];
      if (typeof value === "string") weight += value.length;
    }
    return weight;
  }

  /** Turns a row into the record of the answer, in place. */
  toRecord(row: StoredRecord): StoredRecord {
    for (const field of this.#decoded) {
      const value = row[field.name];
      if (typeof value === "number" || typeof value === "string") row[field.name] = decode(field, value);
    }
    return row;
  }

  /** Turns rows into records, in place. */
  toRecords(rows: StoredRecord[]): StoredRecord[] {
    if (this.#decoded.length > 0) for (const row of rows) this.toRecord(row);
    return rows;
  }

  /** Takes the owner out of a row of `byIdWithOwner`. */
  toOwned(row: StoredRecord): OwnedRow {
    const { [owned]: owner, ...record } = row;
    // `id` and the timestamps are among the columns.
    return { record: this.toRecord(record as StoredRecord), owner: typeof owner === "string" ? owner : null };
  }
}

type Version = Pick<StoredRecord, "id" | "updatedAt">;

const marks = new WeakMap<Collection, string>();

/** A text that changes with the definition: a migration adds fields to records, and the version stays. */
function markOf(collection: Collection): string {
  return marks.getOrInsertComputed(collection, ({ definition }) => digestOf(JSON.stringify(definition)));
}

function digestOf(text: string): string {
  return new Bun.CryptoHasher("sha256").update(text).digest("base64url").slice(0, 12);
}

/** A strong tag (RFC 9110, 8.8.3). `If-Match` compares the version, `If-None-Match` the whole tag. */
function tagOf(version: Version, mark: string): string {
  return `${versionOf(version).slice(0, -1)};${mark}"`;
}

/** The tag of an answer with the stored record, without the fields that the caller may not read. */
export function recordTag(collection: Collection, record: StoredRecord): string {
  const mark = markOf(collection);
  if (collection.fieldPolicies?.hidesValues !== true) return tagOf(record, mark);
  const hidden = collection.definition.fields.map(({ name }) => name).filter((name) => !Object.hasOwn(record, name));
  return tagOf(record, hidden.length === 0 ? mark : digestOf(`${mark} ${hidden.join()}`));
}

/** The tag of an answer with selected fields of a record, or with other records beside the record. */
export function selectionTag(record: Version, text: string): string {
  return tagOf(record, digestOf(text));
}

const tables = new WeakMap<Collection, RecordTable>();

/** The record table of a collection, made once: a collection is immutable. */
export function recordTableOf(collection: Collection): RecordTable {
  let table = tables.get(collection);
  if (table === undefined) {
    table = new RecordTable(collection);
    tables.set(collection, table);
  }
  return table;
}

export function withoutFields(record: StoredRecord, fields: ReadonlySet<string>): StoredRecord {
  if (fields.size === 0) return record;
  const shown = { ...record };
  for (const field of fields) delete shown[field];
  return shown;
}

/** The fields of a collection that are not readable in every record; null if all fields are readable. */
export function fieldLimits({ fieldPolicies }: Collection, principal: Principal): FieldLimits | null {
  return fieldPolicies === null ? null : fieldPolicies.limits("read", principal);
}
