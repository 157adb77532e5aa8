/** Schema diff: a migration as text for a terminal. */
import type { MigrationPlan, MigrationStep } from "@socle/protocol";
import { count, printable, quote } from "../base/kernel/index.ts";

const have = (records: number): string => `${count(records, "record")} ${records === 1 ? "has" : "have"} a value`;

function describe({
  step,
  field = "",
  fields = [],
  unique,
  from = "",
  to = "",
  on,
  records,
  default: given,
}: MigrationStep): string {
  switch (step) {
    case "create":
      return "+ the collection";
    case "delete":
      return "- the collection and its records";
    case "add":
      return `+ ${field}${given === undefined ? "" : `: ${count(records, "record")} ${records === 1 ? "gets" : "get"} ${quote(given)}`}`;
    case "drop":
      return `- ${field}: ${have(records)}, which is lost`;
    case "rename":
      return `> ${from} becomes ${field}`;
    case "owner":
      return `~ ${field} ${on === true ? "shows" : "no longer shows"} the owner`;
    case "require":
      return `~ ${field} is required`;
    case "unique":
      return `~ ${field} is ${on === true ? "" : "no longer "}unique`;
    case "retarget":
      return `~ ${field} points to ${to} instead of ${from}`;
    case "rules":
      return `~ ${field} has other rules`;
    case "multiple":
      return `~ ${field} holds ${on === true ? "several items" : "one value"}`;
    case "values":
      return `~ ${field} has other values`;
    case "default":
      return `~ ${field} has another default`;
    case "onDelete":
      return `~ ${field} does something else when the record that it points to is deleted`;
    case "sequence":
      return on === true ? `~ ${field} numbers the records` : `~ ${field} no longer numbers the records`;
    case "index":
      return `~ ${fields.join(", ")}: ${on === true ? (unique === true ? "a" : "an") : "the"} ${unique === true ? "unique " : ""}index ${on === true ? "comes" : "goes"}`;
    case "search":
      return fields.length === 0 ? "~ no field is searched" : `~ ${fields.join(", ")}: searched`;
    case "permissions":
      return field === "" ? "~ permissions" : `~ permissions of ${field}`;
    case "order":
      return "~ the order of its fields";
  }
}

/** The steps of a migration, a line each: `+` adds, `-` removes, `>` renames, `~` changes. Empty for no change. */
export function schemaDiff(changes: readonly MigrationPlan[]): string {
  const parts = changes
    .filter(({ steps }) => steps.length > 0)
    .map(({ collection, action, records, steps }) => {
      const size = action === "create" ? "" : ` (${count(records, "record")})`;
      // The names are another service's.
      return `${printable(collection)}${size}\n${steps.map((step) => `  ${printable(describe(step))}\n`).join("")}`;
    });
  return parts.join("");
}

/** Whether a migration loses data. */
export function isLossy(changes: readonly MigrationPlan[]): boolean {
  return changes.some(({ steps }) => steps.some(({ step }) => step === "drop" || step === "delete"));
}
