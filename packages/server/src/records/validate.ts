/** Validation of a record's body: types, rules and keys, without the database. */
import type { ErrorDetail, FieldDefinition } from "@socle/protocol";
import type { Pattern } from "../collections/index.ts";
import type { Value } from "../database/index.ts";
import { checkValue } from "../fields/index.ts";
import { nearest, quote } from "../kernel/index.ts";
import type { RecordTable } from "./record-table.ts";
import { readonlyProblem } from "./sequences.ts";

/** An imported record may bring what the service gives to others. */
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

const systemFields: ReadonlySet<string> = new Set(["id", "createdAt", "updatedAt"]);

/** Checks one value by its type and rules; adds a problem or answers the value to store. */
function validateValue(
  field: FieldDefinition,
  { value, pattern }: { value: unknown; pattern?: Pattern | undefined },
  problems: ErrorDetail[],
): Value | undefined {
  const checked = checkValue(field, value, pattern);
  if ("stored" in checked) return checked.stored;
  const { rule, message, item } = checked;
  if (item === undefined) problems.push({ field: field.name, rule, message: `${field.name} ${message}` });
  else problems.push({ field: field.name, item, rule, message: `${field.name}[${item}] ${message}` });
  return undefined;
}

/** A body may hold thousands of keys that mean nothing; an error that lists them all helps nobody. */
const maxUnknownKeys = 50;
const maxKeyLength = 100;
/** Each one is compared with the name of every field. */
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
 * Checks a body against everything that needs no database. In `create` mode an absent field is null; in `update` mode
 * it is left as it is. Fields that are filled at creation are left to whoever knows the caller and the moment.
 */
export function validateBody(table: RecordTable, body: Record<string, unknown>, mode: ValidationMode): ValidatedBody {
  const problems = keyProblems(table, body, mode);
  const values: (Value | undefined)[] = [];
  for (const field of table.fields) {
    if (!Object.hasOwn(body, field.name)) {
      const isFilled = mode === "update" || field.owner === true || isGiven(field);
      values.push(isFilled ? undefined : validateValue(field, { value: null }, problems));
    } else if (field.sequence !== undefined && mode === "create") {
      problems.push(readonlyProblem(field.name));
      values.push(undefined);
    } else if (field.owner === true && body[field.name] === null) {
      values.push(null);
    } else {
      const pattern = table.collection.patterns.get(field.name);
      values.push(validateValue(field, { value: body[field.name], pattern }, problems));
    }
  }
  return { values, problems };
}
