/** The rows of a view in a statement: a common table expression over the columns of collections that a view may read. */
import { type CollectionDefinition, type FieldDefinition, RECORD_TIMES } from "@socle/protocol";
import { identifier } from "../../../store/database/index.ts";
import { ownerColumn } from "../../permissions/index.ts";
import { columnName, derivedColumns, tableName } from "../collection.ts";

/** The columns of a collection that a view may read, by their names in the query, with the fields. */
export function viewColumns(
  definition: CollectionDefinition,
): { name: string; column: string; field: FieldDefinition }[] {
  const own = (name: string, type: FieldDefinition["type"]) => ({ name, column: name, field: { name, type } });
  const system = [own("id", "text"), ...RECORD_TIMES.map((name) => own(name, "datetime"))];
  // A field that shows the owner has the owner.
  if (!definition.fields.some(({ owner }) => owner === true)) system.push(own(ownerColumn, "text"));
  const open = definition.fields.filter(({ permissions }) => permissions?.read === undefined);
  return [...system, ...open.map((field) => ({ name: field.name, column: columnName(field), field }))];
}

/**
 * The rows of a view as SQL: the beginning of a statement in which the name of the view is a table, with the columns of a
 * table of records. No number orders the rows.
 * @param definitions the collections in force.
 */
export function viewSql(
  { name, query = "", fields, reads = [] }: CollectionDefinition,
  definitions: (name: string) => CollectionDefinition | undefined,
): string {
  const tables = reads.flatMap((each) => {
    const source = definitions(each);
    if (source === undefined) return [];
    const columns = viewColumns(source).map(({ name, column }) => `${identifier(column)} AS ${identifier(name)}`);
    const from = `main.${identifier(tableName(each))}`;
    return [`${identifier(each)} AS NOT MATERIALIZED (SELECT ${columns.join(", ")} FROM ${from})`];
  });
  const columns = fields.flatMap((field) => {
    const value = `_rows.${identifier(field.name)}`;
    const derived = derivedColumns(field).map(({ name, sql }) => `${sql(value)} AS ${identifier(name)}`);
    return [`${value} AS ${identifier(columnName(field))}`, ...derived];
  });
  const sources = tables.length === 0 ? "" : `WITH ${tables.join(", ")} `;
  const from = `FROM (${query}\n) AS _rows WHERE _rows.id IS NOT NULL`;
  const selected = ["0 AS _seq", "0 AS rowid", "_rows.id AS id", ...columns].join(", ");
  return `WITH ${identifier(tableName(name))} AS (${sources}SELECT ${selected} ${from}) `;
}
