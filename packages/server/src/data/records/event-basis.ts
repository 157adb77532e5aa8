/**
 * Event bases: the values before a change. A replay decides by the basis whether a listener has lost sight of the record,
 * and whether the record fulfilled a subscription's filter.
 */
import type { JsonValue } from "@socle/protocol";
import type { EventBasis } from "../../store/events/index.ts";
import { type Expression, ownColumnsIn } from "../expressions/index.ts";
import { ownerColumn } from "../permissions/index.ts";
import type { OwnedRow, RecordTable } from "./record-table.ts";
import { isSameValue } from "./saved-record.ts";

/** The most characters of the values of one change. Filters compare short values. */
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
 * The basis of a change: the former values of the changed fields. If the change touched a field of the read rule, the basis
 * has all fields of the read rule. Values that are too long for the log are only named.
 * @param after the record after the change; null for a deletion.
 */
export function basisOf(table: RecordTable, before: OwnedRow, after: OwnedRow | null): EventBasis {
  const asked = columnsOfReadRule(table);
  const { names } = table;
  const changed = names.filter((name) => !isSameValue(before.record[name], after?.record[name]));
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

/** Whether the basis has all fields of the read rule, because the change touched a field of the rule. */
export function touchesReadRule(table: RecordTable, { fields }: EventBasis): boolean {
  const asked = columnsOfReadRule(table);
  return Object.keys(fields).some((name) => name !== "updatedAt" && asked.has(table.columnName(name)));
}

/** About the characters of a value's JSON. */
function lengthOf(value: JsonValue): number {
  if (typeof value === "string") return value.length;
  return typeof value === "object" && value !== null ? JSON.stringify(value).length : 20;
}
