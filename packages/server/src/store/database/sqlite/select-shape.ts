/**
 * The shape of a SELECT: the columns with the origins, and the tables behind the query. SQLite itself tells the shape, by
 * a prepared view over empty tables in memory: no statement runs, and no other table can be named.
 */
import { AppError, messageOf } from "../../../base/kernel/index.ts";
import { identifier } from "../store.ts";
import { Connection } from "./connection.ts";
import { quotedOrComment, singleSelectProblem } from "./user-query.ts";

/** A table that a SELECT may read. `affinity`: TEXT, INTEGER or REAL. */
export interface ShapeTable {
  readonly name: string;
  readonly columns: readonly { readonly name: string; readonly affinity: string }[];
}

/** A column of a SELECT. */
interface ShapeColumn {
  readonly name: string;
  /** The column of a table whose values the column has; null for a computed column. */
  readonly origin: { readonly table: string; readonly column: string } | null;
  /** The type of a computed column, as the outermost CAST says; null for an unknown type. */
  readonly type: "TEXT" | "INTEGER" | "REAL" | null;
}

export interface SelectShape {
  readonly columns: readonly ShapeColumn[];
  /** The names of the tables, sorted. */
  readonly tables: readonly string[];
}

/** The types that SQLite gives to computed columns. NUM holds integers and fractions. */
const computedTypes: { readonly [declared: string]: ShapeColumn["type"] } = {
  TEXT: "TEXT",
  INT: "INTEGER",
  REAL: "REAL",
  NUM: "REAL",
};

/** The table-valued functions that read nothing but their arguments. */
const pureFunctions = ["json_each", "json_tree"];

/**
 * The shape of a SELECT.
 * @throws AppError `bad_request` for SQL that is wrong, does more than read, reads other tables or recurses.
 */
export function selectShape(sql: string, tables: readonly ShapeTable[]): SelectShape {
  const problem = singleSelectProblem(sql, ["select", "with"]);
  if (problem !== null) throw refusal(problem);
  const connection = new Connection(":memory:", { readonly: false });
  try {
    // A query cannot guess the name of the schema, and unqualified names find the tables of the schema.
    const schema = identifier(crypto.randomUUID());
    connection.execute(`ATTACH ':memory:' AS ${schema}`);
    const origins: NonNullable<ShapeColumn["origin"]>[] = [];
    for (const { name, columns } of tables) {
      const declared = columns.map((column) => {
        const place = origins.push({ table: name, column: column.name }) - 1;
        return `${identifier(column.name)} ${identifier(`#${place} ${column.affinity}`)}`;
      });
      // The records have no rowid for a query.
      const create = `CREATE TABLE ${schema}.${identifier(name)}`;
      connection.execute(`${create} (${declared.join(", ")}, PRIMARY KEY (id)) WITHOUT ROWID`);
    }
    connection.execute(`CREATE TEMP VIEW _shape AS SELECT * FROM (${sql}\n)`);
    const found = connection.all<{ name: string; type: string }>("PRAGMA temp.table_info(_shape)");
    // SQLite knows the types of the first SELECT alone.
    const isCompound = /\b(?:union|intersect|except)\b/i.test(sql.replace(quotedOrComment, " "));
    const columns = found.map(({ name, type }): ShapeColumn => {
      const origin = origins[Number(/^#(\d+) /.exec(type)?.[1] ?? -1)] ?? null;
      const own = origin === null ? type : type.slice(type.indexOf(" ") + 1);
      const affinity = origin === null ? (computedTypes[own] ?? null) : (own as ShapeColumn["type"]);
      return { name, origin: isCompound ? null : origin, type: affinity };
    });
    return { columns, tables: tablesRead(connection, sql, schema) };
  } catch (thrown) {
    throw thrown instanceof AppError ? thrown : refusal(messageOf(thrown));
  } finally {
    connection.close();
  }
}

interface Opcode {
  readonly opcode: string;
  readonly p2: number;
  readonly p3: number;
}

/** The tables that SQLite's program for the view opens. @throws AppError for a table of another schema. */
function tablesRead(connection: Connection, sql: string, schema: string): string[] {
  const every = "SELECT * FROM temp._shape";
  const steps = connection.all<{ detail: string }>(`EXPLAIN QUERY PLAN ${every}`);
  if (steps.some(({ detail }) => detail === "RECURSIVE STEP")) throw refusal("a recursive query may never end");
  const roots = new Map(
    connection
      .all<{ name: string; rootpage: number }>(`SELECT name, rootpage FROM ${schema}.sqlite_schema`)
      .map(({ name, rootpage }) => [rootpage, name]),
  );
  const databases = connection.all<{ seq: number; name: string }>("PRAGMA database_list");
  const own = databases.find(({ name }) => identifier(name) === schema)?.seq;
  const read = new Set<string>();
  for (const { opcode, p2, p3 } of connection.all<Opcode>(`EXPLAIN ${every}`)) {
    if (opcode === "VOpen") refuseOtherFunctions(connection, sql);
    if (opcode !== "OpenRead") continue;
    const table = p3 === own ? roots.get(p2) : undefined;
    if (table === undefined) throw refusal("it reads tables of SQLite; only collections can be read");
    read.add(table);
  }
  return [...read].sort();
}

/** Refuses virtual tables and table-valued functions, which the program of a statement does not name. */
function refuseOtherFunctions(connection: Connection, sql: string): void {
  const text = sql.toLowerCase();
  const modules = connection.all<{ name: string }>("SELECT name FROM pragma_module_list").map(({ name }) => name);
  const other = [...modules, "pragma_"].find((name) => !pureFunctions.includes(name) && text.includes(name));
  if (other === undefined) return;
  throw refusal(
    `the text has "${other}"; of the table-valued functions only ${pureFunctions.join(" and ")} are allowed`,
  );
}

function refusal(problem: string): AppError {
  return new AppError("bad_request", problem);
}
