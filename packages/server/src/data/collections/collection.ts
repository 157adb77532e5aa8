/**
 * A collection in force, and all that the definition says about the table: the names of tables and columns, the indexes,
 * and the names that filters and rules can use.
 */
import {
  type CollectionDefinition,
  type FieldDefinition,
  isUnique,
  isView,
  type PermissionRule,
  RECORD_TIMES,
  USERS,
} from "@socle/protocol";
import { quote } from "../../base/kernel/index.ts";
import type { QueryTable } from "../../store/database/index.ts";
import type { Expression, ExpressionSchema, SchemaField } from "../expressions/index.ts";
import { type DerivedColumn, derivedOf, type Pattern, scopeOf, typeOf } from "../fields/index.ts";
import { type FieldPolicies, ownerColumn, type Policies, type Policy, selectsByOwner } from "../permissions/index.ts";

/** A collection in force: the definition, and derived values. Immutable; a migration makes a new collection. */
export interface Collection {
  readonly name: string;
  readonly definition: CollectionDefinition;
  readonly table: string;
  readonly policies: Policies;
  /** The policy of histories: the callers who may see the changes of a record. */
  readonly history: Policy;
  /** The policies of the fields with rules; null without such fields. */
  readonly fieldPolicies: FieldPolicies | null;
  /** The compiled `regex` rules by field name. */
  readonly patterns: ReadonlyMap<string, Pattern>;
  readonly createdAt: string;
  readonly updatedAt: string;
  readonly logMarks: LogMarks;
  /**
   * Whether no record has a `createdAt` before the `createdAt` of a record that was stored earlier: the stored order is the order
   * of `createdAt`. False for good once an import has kept earlier times, or a clock was set back.
   */
  readonly isChronological: boolean;
}

/** The part of a collection that says which indexes the table has. */
export type IndexedTable = Pick<Collection, "definition" | "isChronological">;

/**
 * Positions in the event log at which a migration changed the visibility of older events. The definition keeps the marks
 * over restarts.
 */
export interface LogMarks {
  /** Events up to here are of a collection of the same name that is gone. */
  readonly created: number;
  /**
   * Events up to here may hold fields that were dropped or renamed, that were single or multiple, or that other rules of
   * fields hid, or values that were renamed.
   */
  readonly fields: number;
  /** As `fields`, but for other rules of fields. Absent for a mark that a version without histories has set: `fields` counts then. */
  readonly names?: number;
  /** Events up to here have the type of a former name of the collection. Absent for a collection that was never renamed. */
  readonly renamed?: number;
  /** The former names of the collection, oldest first. Absent for a collection that was never renamed. */
  readonly formerNames?: readonly string[];
  /** For each read rule, the last seq before a wider rule replaced the rule. */
  readonly widened: { readonly [rule in PermissionRule]?: number };
}

/** The table of a collection, for hand-written SQL, if columns have other names than the fields; otherwise null. */
export function queryTableOf({ name, table, definition }: Collection): QueryTable | null {
  const named = definition.fields.filter((field) => columnName(field) !== field.name);
  // The table takes the place of a view of the users.
  if (named.length === 0 && name !== USERS) return null;
  return { table, aliases: Object.fromEntries(named.map((field) => [field.name, columnName(field)])) };
}

/** SQLite keeps names that start with `sqlite_` for itself; a table `json_each` would hide the function that statements call. */
const taken = /^(sqlite_|json_each$)/i;

export function tableName(collection: string): string {
  return taken.test(collection) ? `_${collection}` : collection;
}

export function columnName(field: FieldDefinition): string {
  return field.owner === true ? ownerColumn : plainColumn(field.name);
}

/** The generated columns of a field, each with the unquoted name: see `derivedOf`. */
export function derivedColumns(field: FieldDefinition): readonly (DerivedColumn & { readonly name: string })[] {
  return derivedOf(field).map((derived) => ({ ...derived, name: `_${derived.kind}_${plainColumn(field.name)}` }));
}

/** The columns of a field that an index contains; of all fields but places, the column that sorts. */
export function indexColumns(field: FieldDefinition): readonly string[] {
  const derived = derivedColumns(field).map(({ name }) => name);
  return derived.length === 0 ? [columnName(field)] : derived;
}

/** The columns of an index: of fields, and of times of the record. */
export function columnsOf({ fields }: CollectionDefinition, names: readonly string[]): string[] {
  return names.flatMap((name) => {
    const field = fields.find((each) => each.name === name);
    return field === undefined ? name : indexColumns(field);
  });
}

/** The column of a field that is not the owner. SQLite keeps two names for the place of a row. */
export function plainColumn(field: string): string {
  return ["rowid", "oid"].includes(field.toLowerCase()) ? `_field_${field}` : field;
}

/** The unquoted name of the table of the items of a multiple field. No table of a collection begins with `_items_`, and no column has a dot. */
export function itemTableName(collection: string, field: string): string {
  return `_items_${tableName(collection)}.${plainColumn(field)}`;
}

/** The unquoted name of the table of the folded texts of a field that is unique without regard to case. */
export function foldedTableName(collection: string, field: string): string {
  return `_folded_${tableName(collection)}.${plainColumn(field)}`;
}

/** The unquoted name of the search table. No table of a collection begins with `_search_`. */
export function searchTableName(collection: string): string {
  return `_search_${tableName(collection)}`;
}

/** The column of the search table that holds the words of a field. */
export function searchColumn(position: number): string {
  return `c${position}`;
}

interface Index {
  readonly fields: readonly string[];
  readonly unique: boolean;
}

/** The indexes that a definition asks for. The service makes others unasked. */
export function indexesOf({ indexes = [] }: CollectionDefinition): Index[] {
  return indexes.map((index) =>
    Array.isArray(index) ? { fields: index, unique: false } : { fields: index.fields, unique: index.unique === true },
  );
}

export interface TableIndex {
  readonly columns: readonly string[];
  readonly unique: boolean;
}

/** SQLite compares the names of columns without regard to case. */
function hasSameColumns(a: TableIndex, b: TableIndex): boolean {
  return a.columns.join().toLowerCase() === b.columns.join().toLowerCase();
}

export function isSameIndex(a: TableIndex, b: TableIndex): boolean {
  return a.unique === b.unique && hasSameColumns(a, b);
}

/**
 * The indexes of a collection's table: for unique fields, relations and files, for the owner if a rule searches by the
 * owner, and the indexes of the definition. No two have the same columns; a unique index serves both purposes. Where the stored
 * order is not the order of `createdAt`, the automatic indexes give the order of `createdAt`.
 */
export function tableIndexes({ definition, isChronological }: IndexedTable): TableIndex[] {
  if (isView(definition)) return [];
  const order = isChronological ? [] : ["createdAt"];
  const wanted: TableIndex[] = definition.fields
    // A multiple field has a table of items.
    .filter((field) => isUnique(field) || (typeOf(field).reference !== null && field.multiple !== true))
    .map((field) => {
      const unique = isUnique(field);
      return { columns: [...indexColumns(field), ...(unique ? [] : order)], unique };
    });
  // A sequence gives each number once, and records are looked up by number.
  for (const field of definition.fields)
    if (field.sequence !== undefined)
      wanted.push({ columns: columnsOf(definition, [...scopeOf(field), field.name]), unique: true });
  const hasOwner = wanted.some(({ columns }) => columns[0] === ownerColumn);
  if (!hasOwner && selectsByOwner(definition.permissions?.read))
    wanted.push({ columns: [ownerColumn, ...order], unique: false });
  if (order.length > 0) wanted.push({ columns: order, unique: false });
  for (const { fields, unique } of indexesOf(definition)) {
    const index = { columns: columnsOf(definition, fields), unique };
    const twin = wanted.findIndex((other) => hasSameColumns(index, other));
    if (twin === -1) wanted.push(index);
    else if (unique) wanted[twin] = index;
  }
  return wanted;
}

export interface UserTable {
  readonly table: string;
  /** The public columns, which are the fields of a user without a definition of `users`. */
  readonly fields: readonly string[];
  /** The rows of the users as SQL: the columns of a table of records, with the account fields. */
  readonly rows: string;
}

/** The collections that an expression can enter, and the conditions under which the records may be read. */
export interface SchemaSource {
  readonly users: UserTable;
  definition(name: string): CollectionDefinition | undefined;
  /**
   * Called when an expression enters the records of a collection. Answers the condition under which the records may be
   * read.
   * @throws AppError when no record may be read.
   */
  enter(name: string): Expression | null;
  /** The same for the users. */
  enterUsers(): Expression | null;
  /** The fields of a collection that expressions must not know. */
  closed(name: string): ReadonlySet<string>;
}

/** A field that every record has, or that a user has. */
export function systemField(name: string, isIndexed = false): SchemaField {
  const valueType = RECORD_TIMES.some((time) => time === name) ? "datetime" : "text";
  return { name, valueType, column: name, isRelation: false, isIndexed };
}

/** The fields that an expression may name, with the system fields. */
function fieldsOf(definition: CollectionDefinition): ReadonlyMap<string, SchemaField> {
  const leading = new Set(tableIndexes({ definition, isChronological: true }).map(({ columns }) => columns[0]));
  const own = definition.fields.map((field): SchemaField => {
    const { valueType, reference } = typeOf(field);
    const [first = "", second = ""] = indexColumns(field);
    return {
      name: field.name,
      valueType,
      column: columnName(field),
      isRelation: reference === "record",
      isIndexed: leading.has(first),
      ...(field.multiple === true && {
        items: { table: itemTableName(definition.name, field.name), values: field.values ?? null },
      }),
      ...(field.multiple !== true && field.values !== undefined && { order: { values: field.values, column: first } }),
      ...(valueType === "geo" && { place: { lat: first, lon: second } }),
      ...(valueType === "vector" && {
        vector: { dimensions: field.dimensions ?? 0, metric: field.metric ?? "cosine" },
      }),
    };
  });
  const times = isView(definition) ? [] : RECORD_TIMES.map((name) => systemField(name, leading.has(name)));
  return new Map([systemField("id", !isView(definition)), ...times, ...own].map((field) => [field.name, field]));
}

const known = new WeakMap<CollectionDefinition, ReadonlyMap<string, SchemaField>>();

/** The schema of the records of a collection. @param condition see `ExpressionSchema`. */
export function expressionSchema(
  definition: CollectionDefinition,
  source: SchemaSource,
  condition: Expression | null = null,
): ExpressionSchema {
  const fields = known.getOrInsertComputed(definition, fieldsOf);
  const closed = source.closed(definition.name);
  return {
    name: definition.name,
    table: tableName(definition.name),
    condition,
    field: (name) => (closed.has(name) ? undefined : fields.get(name)),
    fieldNames: () => [...fields.keys()].filter((name) => !closed.has(name)),
    follow: ({ name }) => {
      const field = definition.fields.find((each) => each.name === name);
      return entered(field?.collection ?? "", source);
    },
    back: (collection, name) => backFrom(definition.name, { collection, field: name }, source),
  };
}

function entered(name: string, source: SchemaSource): ExpressionSchema {
  const definition = source.definition(name);
  if (definition === undefined && name === USERS) return userSchema(source);
  // Definitions with relations to nowhere are refused.
  if (definition === undefined) throw new Error(`A relation leads to ${name}, which is not there`);
  return expressionSchema(definition, source, source.enter(name));
}

function userSchema(source: SchemaSource): ExpressionSchema {
  const { table, fields } = source.users;
  return {
    name: USERS,
    table,
    condition: source.enterUsers(),
    field: (name) => (fields.includes(name) ? systemField(name, name === "id") : undefined),
    fieldNames: () => fields,
    follow: () => {
      throw new Error("Users have no relations");
    },
    back: (collection, name) => backFrom(USERS, { collection, field: name }, source),
  };
}

function backFrom(
  to: string,
  from: { collection: string; field: string },
  source: SchemaSource,
): ReturnType<ExpressionSchema["back"]> {
  const definition = source.definition(from.collection);
  if (definition === undefined) return `there is no collection ${quote(from.collection)} that could point to "${to}"`;
  const closed = source.closed(from.collection);
  const pointing = definition.fields.filter((field) => pointsTo(field, to) && !closed.has(field.name));
  const target = entered(from.collection, source);
  const pointer = pointing.some(({ name }) => name === from.field) ? target.field(from.field) : undefined;
  if (pointer !== undefined) return { target, pointer };
  const names = pointing.map(({ name }) => `${from.collection}(${name})`);
  const hint =
    names.length === 0 ? `no field of "${from.collection}" points to "${to}"` : `did you mean ${names.join(" or ")}?`;
  return `${quote(`${from.collection}(${from.field})`)} does not point to "${to}"; ${hint}`;
}

function pointsTo(field: FieldDefinition, to: string): boolean {
  return typeOf(field).reference === "record" && field.collection === to;
}
