/** The values of a record's body, without the database: types, rules and keys, the owner, and the defaults. */
import type { ErrorDetail, FieldDefinition } from "@socle/protocol";
import { isAdmin, nearest, type Principal, quote } from "../../base/kernel/index.ts";
import type { Value } from "../../store/database/index.ts";
import { type Creation, emptyOf, storedDefault } from "../fields/index.ts";
import type { RecordTable } from "./record-table.ts";
import { readonlyProblem } from "./sequences.ts";

export type Body = Record<string, unknown>;

/** An array with more items is looked up in turns with the event loop. */
export const longArray = 50;

/** Whether a body may name many files, of which each lookup may ask read rules. */
export function mayNameManyFiles(body: Body): boolean {
  return Object.values(body).some((value) => Array.isArray(value) && value.length > longArray);
}

/** An imported record may bring system fields and numbers. */
export type ValidationMode = "create" | "import" | "update";

/**
 * The fields of a body, in the order of the definition: the value to store, or undefined for a field that the body does
 * not have.
 */
export interface ValidatedBody {
  readonly values: (Value | undefined)[];
  /** Everything that can be said without the database. */
  readonly problems: ErrorDetail[];
}

/** A value of a body, and the list that takes its problem. */
interface Given {
  readonly value: unknown;
  readonly problems: ErrorDetail[];
}

const systemFields: ReadonlySet<string> = new Set(["id", "createdAt", "updatedAt"]);

/** Checks the value of the field at a position; adds a problem or answers the value to store. */
function valueAt(table: RecordTable, position: number, given: Given): Value | undefined {
  const checked = table.checks[position]?.(given.value) ?? { stored: null };
  if ("stored" in checked) return checked.stored;
  const { rule, message, item } = checked;
  const field = table.fields[position]?.name ?? "";
  const path = item === undefined ? field : `${field}[${item}]`;
  given.problems.push({ field, ...(item !== undefined && { item }), rule, message: `${path} ${message}` });
  return undefined;
}

/** The most unknown keys that an error lists. */
const maxUnknownKeys = 50;
const maxKeyLength = 100;
/** Unknown keys that are compared with the names of all fields, for a hint. */
const maxHints = 5;

function keyProblems(table: RecordTable, body: object, mode: ValidationMode): ErrorDetail[] {
  const problems: ErrorDetail[] = [];
  let unknown = 0;
  for (const key of Object.keys(body)) {
    if (table.positions.has(key)) continue;
    if (systemFields.has(key)) {
      if (mode !== "update")
        problems.push({ field: key, rule: "readonly", message: `${key} is managed by the service` });
      continue;
    }
    unknown += 1;
    if (unknown > maxUnknownKeys) continue;
    const near = unknown > maxHints ? null : nearest(key, table.positions.keys());
    const hint = near === null ? "" : `; did you mean ${near}?`;
    const field = key.length <= maxKeyLength ? key : `${key.slice(0, maxKeyLength)}…`;
    problems.push({ field, rule: "unknown", message: `${quote(key)} is not a field of this collection${hint}` });
  }
  if (unknown > maxUnknownKeys)
    problems.push({ field: "…", rule: "unknown", message: `and ${unknown - maxUnknownKeys} more that are no fields` });
  return problems;
}

/** Whether a new record gets a value that the body does not name. */
function isGiven(field: FieldDefinition): boolean {
  return field.default !== undefined || field.sequence !== undefined;
}

/**
 * Checks a body without the database. An absent field is null in `create` mode and unchanged in `update` mode. Owner,
 * defaults and numbers of a new record are filled in later.
 */
export function validateBody(table: RecordTable, body: Body, mode: ValidationMode): ValidatedBody {
  const problems = keyProblems(table, body, mode);
  const values: (Value | undefined)[] = [];
  for (const [position, field] of table.fields.entries()) {
    const isNamed = Object.hasOwn(body, field.name);
    if (!isNamed && (mode === "update" || field.owner === true || isGiven(field))) {
      values.push(undefined);
    } else if (isNamed && field.sequence !== undefined && mode === "create") {
      problems.push(readonlyProblem(field.name));
      values.push(undefined);
    } else {
      const value = isNamed ? body[field.name] : null;
      values.push(field.owner === true && value === null ? null : valueAt(table, position, { value, problems }));
    }
  }
  return { values, problems };
}

/** Fills in the defaults; `sent` is the body. An empty default of a required field is a problem. */
export function fillDefaults(
  table: RecordTable,
  { sent, values, problems }: ValidatedBody & { sent: Body },
  creation: Creation,
): void {
  for (const position of table.defaults) {
    const field = table.fields[position];
    if (field === undefined || Object.hasOwn(sent, field.name)) continue;
    const value = storedDefault(field, creation);
    values[position] = value;
    if (value === emptyOf(field) && field.required === true)
      problems.push({ field: field.name, rule: "required", message: `${field.name} is required` });
  }
}

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

/** Forgets the value, so that no further problem tells whether the value is the id of a user. */
function refuse(table: RecordTable, values: (Value | undefined)[], problems: ErrorDetail[]): void {
  const name = table.fields[table.ownerPosition]?.name ?? "";
  values[table.ownerPosition] = undefined;
  problems.push({ field: name, rule: "readonly", message: `${name} can only be set or changed by an admin` });
}
