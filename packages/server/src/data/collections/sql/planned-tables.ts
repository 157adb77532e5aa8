/** Planned tables: the tables as after a change that is not made, as parts of a WITH that hide the present tables. */
import type { FieldDefinition } from "@socle/protocol";
import { identifier, literal } from "../../../store/database/index.ts";
import { noItems, storedDefault } from "../../fields/index.ts";
import { ownerColumn } from "../../permissions/index.ts";
import { columnName, derivedColumns, itemTableName, plainColumn, tableName } from "../collection.ts";
import { type CollectionPlan, originOf, type PlanStep } from "../plan.ts";
import { turnedSql } from "../table.ts";

/** The steps after which a column has another name or other values, or the table another name. */
const moving = ["create", "renameCollection", "rename", "add", "owner", "multiple", "type", "values"];

/** The tables after some plans; an empty text for plans that leave all columns. @param now for defaults. */
export function plannedTables(plans: readonly CollectionPlan[], now: string): string {
  const moved = plans.filter(({ steps }) => steps.some(({ step }) => moving.includes(step)));
  return moved.flatMap((plan) => tablesOf(plan, now)).join(", ");
}

/** The fields whose values only the change itself makes: new numbers, and texts under another name. */
export function unknownFields(plans: readonly CollectionPlan[]): ReadonlySet<string> {
  const steps = plans.flatMap((plan) => plan.steps);
  return new Set(
    steps.flatMap((step) => {
      const isMade = step.step === "sequence" ? step.on : step.step === "values" && step.renamed !== undefined;
      return isMade && "field" in step ? [step.field ?? ""] : [];
    }),
  );
}

function tablesOf(plan: CollectionPlan, now: string): string[] {
  const { before, base, after, steps } = plan;
  const old = before ?? base?.definition;
  const rows = before === null ? `(${base?.rows})` : `main.${identifier(tableName(before.name))}`;
  // A new collection has no records.
  const from = old === undefined ? "WHERE 0" : `FROM ${rows} AS _old`;
  const present = (column: string): string => (old === undefined ? "NULL" : `_old.${identifier(column)}`);
  const stepOf = <T extends PlanStep["step"]>(kind: T, name: string) =>
    steps.find(
      (each): each is Extract<PlanStep, { step: T }> => each.step === kind && "field" in each && each.field === name,
    );

  const valueSql = (field: FieldDefinition): string => {
    const origin = old?.fields.find(({ name }) => name === originOf(plan, field.name));
    const added = stepOf("add", field.name);
    if (origin === undefined || added !== undefined) {
      const value = added?.default === undefined ? null : storedDefault(field, { now, userId: null });
      if (typeof value === "number") return String(value);
      return value === null ? (field.multiple === true ? literal(noItems) : "NULL") : literal(value);
    }
    const column = present(columnName(origin));
    if (stepOf("multiple", field.name) !== undefined) return turnedSql(field, column);
    return stepOf("type", field.name) === undefined ? column : `CAST(${column} AS REAL)`;
  };

  const itemsOf = ({ name }: FieldDefinition, value: string): string => {
    if (before !== null && !stepOf("add", name) && !stepOf("multiple", name))
      return `SELECT record, value FROM main.${identifier(itemTableName(before.name, originOf(plan, name)))}`;
    const items = `SELECT ${present("_seq")} AS record, _item.value AS value`;
    return old === undefined
      ? "SELECT NULL AS record, NULL AS value WHERE 0"
      : `${items} ${from}, json_each(${value}) _item`;
  };

  const taker = after.fields.find(({ name, owner }) => owner === true && stepOf("owner", name) !== undefined);
  const taken = taker === undefined ? [] : [present(plainColumn(originOf(plan, taker.name)))];
  const owner = [...taken, present(ownerColumn), "NULL"].join(", ");
  const columns = ["_seq", "id", "createdAt", "updatedAt"].map((name) => `${present(name)} AS ${name}`);
  columns.push(`${present("_seq")} AS rowid`, `coalesce(${owner}) AS ${ownerColumn}`);
  const items: string[] = [];
  for (const field of after.fields.filter((each) => each.owner !== true)) {
    const value = valueSql(field);
    columns.push(`${value} AS ${identifier(columnName(field))}`);
    for (const { name, sql } of derivedColumns(field)) columns.push(`${sql(value)} AS ${identifier(name)}`);
    const table = identifier(itemTableName(after.name, field.name));
    if (field.multiple === true) items.push(`${table} AS NOT MATERIALIZED (${itemsOf(field, value)})`);
  }
  return [`${identifier(tableName(after.name))} AS NOT MATERIALIZED (SELECT ${columns.join(", ")} ${from})`, ...items];
}
