/** Upserts: the value of a unique field in a body finds the record that the body changes. */
import { isUnique } from "@socle/protocol";
import { AppError, oneOf, type Principal, quote } from "../../base/kernel/index.ts";
import type { Value } from "../../store/database/index.ts";
import { validateBody } from "./preparation.ts";
import { fieldLimits, type RecordTable } from "./record-table.ts";
import type { Body } from "./references.ts";

/**
 * The value by which a body finds a record. A unique field that the caller may never read is no such field.
 * @throws AppError `bad_request` for a field that is not unique, `validation_error` for a value that finds no record.
 */
export function keyIn(table: RecordTable, principal: Principal, { by, body }: { by: string; body: Body }): Value {
  const closed = fieldLimits(table.collection, principal)?.closed;
  const unique = table.fields.filter((field) => isUnique(field) && closed?.has(field.name) !== true);
  if (!unique.some(({ name }) => name === by)) {
    const known =
      unique.length === 0
        ? `, and "${table.collection.name}" has no such field`
        : `: ${oneOf(unique.map(({ name }) => name))}`;
    throw new AppError("bad_request", `"by" must be a unique field${known}; not ${quote(by)}.`);
  }
  const { values, problems } = validateBody(table, { [by]: body[by] ?? null }, "update");
  const value = values[table.positions.get(by) ?? -1] ?? null;
  if (value === null && problems.length === 0)
    problems.push({ field: by, rule: "required", message: `${by} is required: its value finds the record` });
  if (problems.length > 0) throw AppError.validation(problems);
  return value;
}

/** Whether a refusal tells that another record has the value of a field. */
export function isTaken(refusal: unknown, by: string): boolean {
  const details = refusal instanceof AppError ? refusal.details : undefined;
  return details?.some(({ field, rule }) => field === by && rule === "unique") === true;
}

/** The caller with the right to read, for an API key that only writes: the rules decide what the caller finds. */
export function finderOf(principal: Principal, collection: string): Principal {
  if (principal === null || !("scopes" in principal) || principal.scopes === undefined) return principal;
  return { ...principal, scopes: [...principal.scopes, `${collection}:read`] };
}
