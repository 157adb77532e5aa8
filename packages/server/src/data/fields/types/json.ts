/** The field type json: any JSON value, stored as its text. */
import type { JsonValue } from "@socle/protocol";
import type { FieldType } from "../field-type.ts";

/** The most levels of nesting, which bound every walk over a value. */
const maxDepth = 100;

/** Whether JSON holds the value without loss: not too deep, and without numbers that JavaScript reads as infinite. */
function isFaithful(value: unknown, depth: number): boolean {
  if (typeof value === "number") return Number.isFinite(value);
  if (typeof value === "string") return value.isWellFormed();
  if (typeof value !== "object" || value === null) return true;
  if (depth >= maxDepth) return false;
  if (!Array.isArray(value) && !Object.keys(value).every((name) => name.isWellFormed())) return false;
  for (const item of Array.isArray(value) ? value : Object.values(value))
    if (!isFaithful(item, depth + 1)) return false;
  return true;
}

export const json: FieldType = {
  name: "json",
  column: "TEXT",
  valueType: "json",
  expected: `a JSON value, at most ${maxDepth} levels deep, with finite numbers and without lone surrogates`,
  encode: (value) => (isFaithful(value, 0) ? JSON.stringify(value) : undefined),
  // The text was written by JSON.stringify.
  decode: (stored) => JSON.parse(String(stored)) as JsonValue,
  rules: { bounds: null, regex: false, unique: false },
  emptyLiteral: `'""'`,
  isIndexable: false,
  reference: null,
  mayBeLong: () => true,
  typescript: { type: "JsonValue" },
};
