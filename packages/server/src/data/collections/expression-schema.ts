/**
 * Expression schemas: the names that filters and rules can use for the records of a collection, from its definition.
 */
import type { CollectionDefinition, FieldDefinition } from "@socle/protocol";
import { quote } from "../../base/kernel/index.ts";
import type { Expression, ExpressionSchema, SchemaField } from "../expressions/index.ts";
import { typeOf } from "../fields/index.ts";
import { columnName, indexColumn, itemTableName, orderColumn, tableName } from "./collection.ts";
import { tableIndexes } from "./indexes.ts";

/** The table of users, for relations to users. */
export interface UserTable {
  readonly table: string;
  /** Its public columns, which are the fields of a user. */
  readonly fields: readonly string[];
}

/** The collections that an expression can enter, and the conditions under which their records may be read. */
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
  const valueType = name === "createdAt" || name === "updatedAt" ? "datetime" : "text";
  return { name, valueType, column: name, isRelation: false, isIndexed };
}

/** The fields that an expression may name, with the system fields. */
function fieldsOf(definition: CollectionDefinition): ReadonlyMap<string, SchemaField> {
  const leading = new Set(tableIndexes(definition).map(({ columns }) => columns[0]));
  const own = definition.fields.map((field): SchemaField => {
    const { valueType, reference } = typeOf(field);
    const order = orderColumn(field);
    return {
      name: field.name,
      valueType,
      column: columnName(field),
      isRelation: reference === "record",
      isIndexed: leading.has(indexColumn(field)),
      ...(field.multiple === true && {
        items: { table: itemTableName(definition.name, field.name), values: field.values ?? null },
      }),
      ...(order !== null && { order: { values: field.values ?? [], column: order } }),
    };
  });
  const times = ["createdAt", "updatedAt"].map((name) => systemField(name, leading.has(name)));
  return new Map([systemField("id", true), ...times, ...own].map((field) => [field.name, field]));
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
      return field?.collection === "users" ? userSchema(source) : entered(field?.collection ?? "", source);
    },
    back: (collection, name) => backFrom(definition.name, { collection, field: name }, source),
  };
}

function entered(name: string, source: SchemaSource): ExpressionSchema {
  const definition = source.definition(name);
  // Definitions whose relations lead nowhere are refused.
  if (definition === undefined) throw new Error(`A relation leads to ${name}, which is not there`);
  return expressionSchema(definition, source, source.enter(name));
}

function userSchema(source: SchemaSource): ExpressionSchema {
  const { table, fields } = source.users;
  return {
    name: "users",
    table,
    condition: source.enterUsers(),
    field: (name) => (fields.includes(name) ? systemField(name, name === "id") : undefined),
    fieldNames: () => fields,
    follow: () => {
      throw new Error("Users have no relations");
    },
    back: (collection, name) => backFrom("users", { collection, field: name }, source),
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
