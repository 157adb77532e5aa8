/** Tables of the mirror: for each collection, the columns in PostgreSQL, and the SQL of both engines that moves records from SQLite to PostgreSQL. */
import {
  ACCOUNT_FIELDS,
  type CollectionDefinition,
  type FieldDefinition,
  type FieldType,
  USERS,
} from "@socle/protocol";
import { columnName, definitionsIn, tableName } from "../../../data/collections/index.ts";
import { typeOf } from "../../../data/fields/index.ts";
import { ownerColumn } from "../../../data/permissions/index.ts";
import { userTable } from "../../../people/auth/index.ts";
import { identifier, type Reader } from "../../../store/database/index.ts";

/** The most records that a statement of SQLite reads. */
export const pageRecords = 500;

const engineTypes: { readonly [type in FieldType]: string } = {
  string: "text",
  text: "text",
  relation: "text",
  file: "text",
  integer: "bigint",
  float: "double precision",
  boolean: "boolean",
  datetime: "timestamptz",
  json: "jsonb",
  geo: "jsonb",
  vector: "jsonb",
};

/** Names that PostgreSQL gives columns of its own in every table. */
const taken = /^(?:tableoid|xmin|cmin|xmax|cmax|ctid)$/;

/** A column: the quoted name and the type in PostgreSQL, the value in SQLite, and the value of PostgreSQL made from the JSON of the row. */
interface Column {
  readonly name: string;
  readonly type: string;
  readonly value: string;
  readonly read: (row: string, place: number) => string;
}

/** A table of the mirror. */
export interface MirroredTable {
  /** Differs after each change of the definition that changes columns or values. */
  readonly shape: string;
  /** Columns `seq`, `id` and `row` (JSON), of the records whose ids are in a JSON array. */
  readonly byIds: string;
  /** The same columns, of the next `pageRecords` records after a `seq`. */
  readonly after: string;
  /** The definitions of columns. */
  readonly columns: string;
  /** The end of `INSERT INTO table` for rows of JSON. */
  readonly upsert: string;
}

function columnOf(
  name: string,
  source: string,
  { type, multiple }: Pick<FieldDefinition, "type" | "multiple">,
): Column {
  const isArray = multiple === true;
  const isJson = isArray || engineTypes[type] === "jsonb";
  const column = identifier(source);
  // PostgreSQL calls the year 0 the year 1 before Christ.
  const moment = `iif(${column} LIKE '0000-%', '0001' || substr(${column}, 5) || ' BC', ${column})`;
  const plain = type === "datetime" ? moment : type === "vector" ? `_numbers(${column})` : column;
  const engineType = engineTypes[type];
  return {
    name: identifier(taken.test(name) ? `_field_${name}` : name),
    type: isArray ? `${engineType}[]` : engineType,
    value: isJson ? `json(${plain})` : plain,
    read: (row, place) => {
      if (isArray) return `ARRAY(SELECT jsonb_array_elements_text(${row}->${place}))`;
      if (isJson) return `nullif(${row}->${place}, 'null')`;
      const text = `${row}->>${place}`;
      if (type === "boolean") return `(${text}) = '1'`;
      return engineType === "text" ? text : `(${text})::${engineType}`;
    },
  };
}

function columnsOf({ fields }: CollectionDefinition): Column[] {
  const time = { type: "datetime" } as const;
  const owner = fields.some((field) => field.owner === true)
    ? []
    : [columnOf(ownerColumn, ownerColumn, { type: "string" })];
  return [
    columnOf("id", "id", { type: "string" }),
    columnOf("createdAt", "createdAt", time),
    columnOf("updatedAt", "updatedAt", time),
    ...owner,
    ...fields.map((field) => columnOf(field.name, columnName(field), field)),
  ];
}

/** @param source the records in SQLite. */
function mirrored(definition: CollectionDefinition, source: string): MirroredTable {
  const columns = columnsOf(definition);
  const row = `json_array(${columns.map(({ value }) => value).join(", ")})`;
  const rows = `SELECT _seq AS seq, id, ${row} AS row FROM ${source}`;
  const fields = definition.fields.map(({ permissions: _, ...field }) => ({ ...field, column: typeOf(field).column }));
  const names = columns.map(({ name }) => name);
  const values = columns.map(({ read }, place) => read("r", place));
  const changes = names.slice(1).map((name) => `${name} = excluded.${name}`);
  return {
    shape: JSON.stringify(fields),
    byIds: `${rows} WHERE id IN (SELECT value FROM json_each(?))`,
    after: `${rows} WHERE _seq > ? ORDER BY _seq LIMIT ${pageRecords}`,
    columns: columns.map(({ name, type }, i) => `${name} ${type}${i === 0 ? " PRIMARY KEY" : ""}`).join(", "),
    upsert: `(${names.join(", ")}) SELECT ${values.join(", ")} FROM jsonb_array_elements($1) AS _(r)
      ON CONFLICT (id) DO UPDATE SET ${changes.join(", ")}`,
  };
}

/** Whether the database has the tables of a service: a new database has no tables, and of the tables that the mirror reads, the table of users comes last. */
export function hasTables(state: Reader): boolean {
  return state.get("SELECT 1 FROM sqlite_schema WHERE name = ?", userTable.table) !== null;
}

/** The tables that the mirror of a database has, by collection. */
export function mirroredTables(state: Reader): Map<string, MirroredTable> {
  const users: CollectionDefinition = { name: USERS, fields: [...ACCOUNT_FIELDS] };
  const tables = new Map([[USERS, mirrored(users, `(${userTable.rows})`)]]);
  for (const definition of definitionsIn(state))
    tables.set(definition.name, mirrored(definition, identifier(tableName(definition.name))));
  return tables;
}
