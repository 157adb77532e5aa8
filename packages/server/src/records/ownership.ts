/** Ownership: decides the owner of a new or changed record. */
import type { ErrorDetail } from "@socle/protocol";
import type { Value } from "../database/index.ts";
import { isAdmin, type Principal } from "../kernel/index.ts";
import type { RecordTable } from "./record-table.ts";
import type { ValidatedBody } from "./validate.ts";

/**
 * The owner of a new record: its creator. An owner field shows the owner; only an admin may name another user, or null.
 * In `values`, the field's position then holds the owner.
 */
export function ownerOfNew(
  table: RecordTable,
  principal: Principal,
  { values, problems }: ValidatedBody,
): string | null {
  const creator = principal?.userId ?? null;
  const field = table.fields[table.ownerPosition];
  if (field === undefined) return creator;
  const given = values[table.ownerPosition];
  const isLeftToUs = given === undefined || given === creator || (given === null && !isAdmin(principal));
  if (!isLeftToUs && !isAdmin(principal)) refuse(table, values, problems);
  const named = typeof given === "string" ? given : null;
  const owner = isLeftToUs ? creator : named;
  const isRefused = problems.some((problem) => problem.field === field.name);
  if (isRefused) return owner;
  if (owner === null && field.required === true)
    problems.push({ field: field.name, rule: "required", message: `${field.name} is required` });
  values[table.ownerPosition] = owner;
  return owner;
}

/**
 * The owner of a record after a change. In `values`, the owner field's position is undefined unless the owner changes.
 */
export function ownerOfChanged(
  table: RecordTable,
  { principal, owner: current }: { principal: Principal; owner: string | null },
  { values, problems }: ValidatedBody,
): string | null {
  const field = table.fields[table.ownerPosition];
  const given = values[table.ownerPosition];
  if (field === undefined || given === undefined) return current;
  if (given === current) {
    values[table.ownerPosition] = undefined;
    return current;
  }
  if (!isAdmin(principal)) {
    refuse(table, values, problems);
    return current;
  }
  if (given === null && field.required === true)
    problems.push({ field: field.name, rule: "required", message: `${field.name} is required` });
  return typeof given === "string" ? given : null;
}

/** The value is forgotten, so that nobody learns from a further problem whether it is somebody's id. */
function refuse(table: RecordTable, values: (Value | undefined)[], problems: ErrorDetail[]): void {
  const name = table.fields[table.ownerPosition]?.name ?? "";
  values[table.ownerPosition] = undefined;
  problems.push({ field: name, rule: "readonly", message: `${name} can only be set or changed by an admin` });
}
