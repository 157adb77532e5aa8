/** Event bases: the part of a record before a change by which a replay decides who has lost sight of it. */
import type { JsonValue } from "@socle/protocol";
import type { EventBasis } from "../events/index.ts";
import { type Expression, ownColumnsIn } from "../expressions/index.ts";
import { ownerColumn } from "../permissions/index.ts";
import type { OwnedRow, RecordTable } from "./record-table.ts";

const columnsOf = new WeakMap<Expression, ReadonlySet<string>>();

/** The columns that a condition asks about. */
function askedColumns(condition: Expression): ReadonlySet<string> {
  let columns = columnsOf.get(condition);
  if (columns === undefined) {
    columns = ownColumnsIn(condition);
    columnsOf.set(condition, columns);
  }
  return columns;
}

/**
 * The basis of a change, where the read rule is an expression that asks about the record.
 * @param after the record after the change; null where it is deleted.
 * @returns null where no rule needs one, or nothing that the rule asks about has changed.
 */
export function basisOf(table: RecordTable, before: OwnedRow, after: OwnedRow | null): EventBasis | null {
  const { read } = table.collection.policies;
  const decision = read.decide(null);
  if (decision.access !== "where") return null;
  const columns = askedColumns(decision.condition);
  const names = ["id", "createdAt", "updatedAt", ...table.fields.map(({ name }) => name)].filter((name) =>
    columns.has(table.columnName(name)),
  );
  const isSame = (name: string): boolean =>
    name === "updatedAt" || JSON.stringify(before.record[name]) === JSON.stringify(after?.record[name]);
  const isOwnerSame = !columns.has(ownerColumn) || before.owner === after?.owner;
  if (after !== null && names.every(isSame) && isOwnerSame) return null;
  const fields: Record<string, JsonValue> = {};
  for (const name of names) fields[name] = before.record[name] ?? null;
  return { fields, owner: before.owner };
}
