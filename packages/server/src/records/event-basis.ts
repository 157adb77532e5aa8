/**
 * Event bases: the values before a change that the log keeps, by which a replay decides who has lost sight of the record, and whether it
 * fulfilled a subscription's filter.
 */
import type { JsonValue } from "@socle/protocol";
import type { EventBasis } from "../events/index.ts";
import { type Expression, ownColumnsIn } from "../expressions/index.ts";
import { ownerColumn } from "../permissions/index.ts";
import type { OwnedRow, RecordTable } from "./record-table.ts";

/** Characters that the values of one change may take, so that a deletion writes little: filters compare short values. */
const maxBasis = 1_024;

const columnsOf = new WeakMap<Expression, ReadonlySet<string>>();

const none: ReadonlySet<string> = new Set();

/** The columns that the read rule asks about. */
function columnsOfReadRule(table: RecordTable): ReadonlySet<string> {
  const { read } = table.collection.policies;
  if (read.audience !== "condition") return none;
  const decision = read.decide(null);
  if (decision.access !== "where") return none;
  const { condition } = decision;
  let columns = columnsOf.get(condition);
  if (columns === undefined) {
    columns = ownColumnsIn(condition);
    columnsOf.set(condition, columns);
  }
  return columns;
}

/**
 * The basis of a change: the former values of the fields that it changed. Where it changed something that the read rule asks
 * about, all that this asks about. Values that are too long for the log are named alone.
 * @param after the record after the change; null where it is deleted.
 */
export function basisOf(table: RecordTable, before: OwnedRow, after: OwnedRow | null): EventBasis {
  const asked = columnsOfReadRule(table);
  const { names } = table;
  const changed = names.filter((name) => !isSame(before.record[name], after?.record[name]));
  const isAsked = (name: string): boolean => asked.has(table.columnName(name));
  const isOwnerAsked = asked.has(ownerColumn) && before.owner !== after?.owner;
  const isRuleTouched =
    asked.size > 0 && (isOwnerAsked || changed.some((name) => name !== "updatedAt" && isAsked(name)));
  const fields: Record<string, JsonValue> = {};
  const omitted: string[] = [];
  let room = maxBasis;
  for (const name of isRuleTouched ? names : changed) {
    const isForRule = isRuleTouched && isAsked(name);
    if (!isForRule && !changed.includes(name)) continue;
    const value = before.record[name] ?? null;
    const length = lengthOf(value);
    if (length <= room || isForRule) {
      fields[name] = value;
      room -= length;
    } else {
      omitted.push(name);
    }
  }
  return { fields, owner: before.owner, ...(omitted.length > 0 && { omitted }) };
}

/** Whether the basis of a change says all that the read rule asks about, because the change touched some of it. */
export function touchesReadRule(table: RecordTable, { fields }: EventBasis): boolean {
  const asked = columnsOfReadRule(table);
  return Object.keys(fields).some((name) => name !== "updatedAt" && asked.has(table.columnName(name)));
}

function isSame(before: JsonValue | undefined, after: JsonValue | undefined): boolean {
  if (before === after) return true;
  const areObjects = typeof before === "object" && typeof after === "object";
  return areObjects && JSON.stringify(before) === JSON.stringify(after);
}

/** About the characters of a value's JSON. */
function lengthOf(value: JsonValue): number {
  if (typeof value === "string") return value.length;
  return typeof value === "object" && value !== null ? JSON.stringify(value).length : 20;
}
