/** Defaults: the values of a new record's fields that its body does not have. */
import { type Creation, emptyOf, storedDefault } from "../fields/index.ts";
import type { RecordTable } from "./record-table.ts";
import type { ValidatedBody } from "./validate.ts";

/** Fills in the defaults; `sent` is the body. A default of no value is refused where one is required. */
export function fillDefaults(
  table: RecordTable,
  { sent, values, problems }: ValidatedBody & { sent: Record<string, unknown> },
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
