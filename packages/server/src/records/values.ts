import type { FieldDefinition, FieldType, JsonValue } from "@socle/protocol";
import type { Value } from "../database/index.ts";
import { parseDatetime } from "../kernel/index.ts";

/** How a type's values come in from JSON, lie in a column and go out again. */
interface TypeCodec {
  /** The stored value, or undefined for one of another type: nothing is coerced. */
  encode(value: unknown): Value | undefined;
  /** What was expected, as an error says it. */
  readonly expected: string;
}

/** Deeper than this no JSON is meant; it bounds every walk over a value. */
const maxDepth = 100;

/** Whether JSON can hold the value without loss: not too deep, and no number that was too large to be one. */
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

/** Text that every reader of the database gets back as it was: no lone surrogates, and no NUL, where C strings end. */
function encodeText(value: unknown): string | undefined {
  return typeof value === "string" && value.isWellFormed() && !value.includes("\0") ? value : undefined;
}

const text: TypeCodec = { encode: encodeText, expected: "a string of Unicode text without NUL" };

const codecs: { readonly [type in FieldType]: TypeCodec } = {
  string: text,
  text,
  integer: {
    // `+ 0` turns -0 into 0.
    encode: (value) => (typeof value === "number" && Number.isSafeInteger(value) ? value + 0 : undefined),
    expected: "a whole number between -(2^53-1) and 2^53-1",
  },
  float: {
    encode: (value) => (typeof value === "number" && Number.isFinite(value) ? value + 0 : undefined),
    expected: "a finite number",
  },
  boolean: {
    encode: (value) => (typeof value === "boolean" ? Number(value) : undefined),
    expected: "true or false",
  },
  datetime: {
    encode: (value) => (typeof value === "string" ? (parseDatetime(value) ?? undefined) : undefined),
    expected: 'a date such as "2026-03-01" or an RFC 3339 date-time such as "2026-03-01T09:30:00Z"',
  },
  json: {
    encode: (value) => (isFaithful(value, 0) ? JSON.stringify(value) : undefined),
    expected: `a JSON value, at most ${maxDepth} levels deep, with finite numbers and without lone surrogates`,
  },
  relation: { encode: encodeText, expected: "the id of a record, a string" },
  file: { encode: encodeText, expected: "the id of a stored file, a string" },
};

export function codecOf(field: FieldDefinition): TypeCodec {
  return codecs[field.type];
}

/** A stored value as it is answered. */
export function decode(field: FieldDefinition, value: Value): JsonValue {
  if (value === null) return null;
  if (field.type === "boolean") return value === 1;
  // It was written by JSON.stringify.
  if (field.type === "json") return JSON.parse(String(value)) as JsonValue;
  return value;
}

/** Whether `decode` does anything for the type. */
export function needsDecoding(field: FieldDefinition): boolean {
  return field.type === "boolean" || field.type === "json";
}
