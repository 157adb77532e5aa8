/** Defaults: the values of a new record's fields about which its body says nothing. */
import type { ErrorDetail } from "@socle/protocol";
import type { Value } from "../database/index.ts";
import { type Creation, storedDefault } from "../fields/index.ts";
import type { RecordTable } from "./record-table.ts";

/** Fills in the defaults. A default that is nobody is refused where a value is required. */
export function fillDefaults(
  table: RecordTable,
  body: Record<string, unknown>,
  { values, problems }: { values: (Value | undefined)[]; problems: ErrorDetail[] },
  creation: Creation,
): void {
  for (const position of table.defaults) {
    const field = table.fields[position];
    if (field === undefined || Object.hasOwn(body, field.name)) continue;
    const value = storedDefault(field, creation);
    values[position] = value;
    if (value === null && field.required === true)
      problems.push({ field: field.name, rule: "required", message: `${field.name} is required` });
  }
}
