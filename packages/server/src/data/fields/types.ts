/**
 * Field types: the column, the stored form and the JSON form of each type, and the rules that apply. Every question about a type is
 * asked here. A new type is an object below and a line in `types`.
 */
import {
  ATTRIBUTES,
  DEFINITION_LIMITS,
  type FieldDefinition,
  type FieldType as FieldTypeName,
  GEO_LIMITS,
  type GeoPoint,
  geoProblem,
  type JsonSchema,
  type JsonValue,
  MAX_DIMENSIONS,
  type VectorShape,
  vectorProblem,
} from "@socle/protocol";
import { encodeVector, numbersOf, parseDatetime } from "../../base/kernel/index.ts";
import type { Value } from "../../store/database/index.ts";

/** How expressions compare the values of a field. Ids of records and of files are text. */
export type ValueType = "text" | "number" | "boolean" | "datetime" | "json" | "geo" | "vector";

/** The operators of an update, which make a value from the stored value: see `operators.ts`. */
export type OperatorName = "$increment" | "$add" | "$remove";

/** A generated column beside the column of a field: `kind` is a part of the name, `sql` makes the value of the stored value. */
export interface DerivedColumn {
  readonly kind: "order" | "lat" | "lon";
  readonly type: "INTEGER" | "REAL";
  sql(value: string): string;
}

/** A type of fields (spec, "Field definition"; contract, "Collections and fields"). */
export interface FieldType {
  readonly name: FieldTypeName;
  readonly column: "TEXT" | "INTEGER" | "REAL";
  /** The type of the value; for a multiple field, the type of an item. */
  readonly valueType: ValueType;
  /** The accepted values, in the words of an error message. */
  readonly expected: string;
  /** The stored form of a JSON value, or undefined for a value of another type. Nothing is coerced. */
  encode(value: unknown): Value | undefined;
  /** The problem of a value that `encode` refuses, as the end of a sentence. Absent: the message names `expected`. */
  problem?(value: unknown): string | null;
  /** The JSON value of a stored value. Absent if both are the same. */
  decode?(stored: Exclude<Value, null>): JsonValue;
  readonly operators: readonly OperatorName[];
  /** Whether the value may be an object, so that no object in a body is an operator. */
  readonly isObject?: true;
  /** The parts of the value that an index holds. */
  readonly derived?: readonly DerivedColumn[];
  /** The stored value, as an SQL literal, that counts as empty beside null; null if only null is empty. */
  readonly emptyLiteral: string | null;
  /** The kind of thing that the value names by id; null for a value that is no id. */
  readonly reference: "record" | "file" | null;
  /** Whether a value of the field may be longer than 100 characters. */
  mayBeLong(field: FieldDefinition): boolean;
  /** For a multiple field: the type of an item. */
  readonly item?: FieldType;
  /** The JSON Schema of the value; for a multiple field, of an item. */
  readonly schema: JsonSchema;
  /** The type in the generated declarations, and a note. */
  readonly typescript: { readonly type: string; readonly note?: string };
}

/** The parts of a type with short values, unique if the definition says so, and without bounds. */
const scalar = {
  operators: [],
  emptyLiteral: null,
  reference: null,
  mayBeLong: () => false,
} as const;

/** The parts of a type that is stored as text. */
const textual = {
  ...scalar,
  column: "TEXT",
  valueType: "text",
  encode: encodeText,
  emptyLiteral: "''",
  schema: { type: "string" },
  typescript: { type: "string" },
} as const;

/** Text that every reader of the database gets back unchanged: without lone surrogates, and without NUL, which ends a C string. */
export function encodeText(value: unknown): string | undefined {
  return typeof value === "string" && value.isWellFormed() && !value.includes("\0") ? value : undefined;
}

/** Unicode text of one line. */
const string: FieldType = {
  ...textual,
  name: "string",
  expected: "a string of Unicode text without NUL",
  // `max` bounds the length.
  mayBeLong: ({ max }) => max === undefined || max > 100,
};

/** A string of many lines. The dashboard gives a larger control to the type. */
const text: FieldType = { ...string, name: "text" };

/** A whole number that a double holds exactly. */
const integer: FieldType = {
  ...scalar,
  name: "integer",
  column: "INTEGER",
  valueType: "number",
  expected: "a whole number between -(2^53-1) and 2^53-1",
  // `+ 0` turns -0 into 0.
  encode: (value) => (typeof value === "number" && Number.isSafeInteger(value) ? value + 0 : undefined),
  operators: ["$increment"],
  schema: { type: "integer", minimum: Number.MIN_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER },
  typescript: { type: "number", note: "a whole number" },
};

/** A finite double. */
const float: FieldType = {
  ...integer,
  name: "float",
  column: "REAL",
  expected: "a finite number",
  encode: (value) => (typeof value === "number" && Number.isFinite(value) ? value + 0 : undefined),
  schema: { type: "number" },
  typescript: { type: "number" },
};

/** A boolean, stored as 0 and 1. */
const boolean: FieldType = {
  ...scalar,
  name: "boolean",
  column: "INTEGER",
  valueType: "boolean",
  expected: "true or false",
  encode: (value) => (typeof value === "boolean" ? Number(value) : undefined),
  decode: (stored) => stored === 1,
  schema: { type: "boolean" },
  typescript: { type: "boolean" },
};

/** A moment, stored and answered as ISO 8601 in UTC with milliseconds, so that texts sort by time. */
const datetime: FieldType = {
  ...textual,
  name: "datetime",
  valueType: "datetime",
  expected: 'a date such as "2026-03-01" or an RFC 3339 date-time such as "2026-03-01T09:30:00Z"',
  encode: (value) => (typeof value === "string" ? (parseDatetime(value) ?? undefined) : undefined),
  schema: { type: "string", format: "date-time" },
  typescript: { type: "string", note: "ISO 8601, UTC, with milliseconds" },
};

/** The most levels of nesting in JSON, which bound every walk over a value. */
const maxDepth = 100;

/**
 * Whether JSON holds the value without loss: not too deep, and without numbers that JavaScript reads as infinite or may have
 * rounded. A whole number from 1e21 on was written with an exponent, as JSON writes the number again: see `parseJsonText`.
 */
function isFaithful(value: unknown, depth: number): boolean {
  if (typeof value === "number")
    return (
      Number.isFinite(value) && (Number.isSafeInteger(value) || !Number.isInteger(value) || Math.abs(value) >= 1e21)
    );
  if (typeof value === "string") return value.isWellFormed();
  if (typeof value !== "object" || value === null) return true;
  if (depth >= maxDepth) return false;
  if (!Array.isArray(value) && !Object.keys(value).every((name) => name.isWellFormed())) return false;
  for (const item of Array.isArray(value) ? value : Object.values(value))
    if (!isFaithful(item, depth + 1)) return false;
  return true;
}

/** The JSON value of a text that JSON.stringify wrote. */
function parsed(stored: Exclude<Value, null>): JsonValue {
  return JSON.parse(String(stored)) as JsonValue;
}

/** Any JSON value, stored as text. */
const json: FieldType = {
  ...scalar,
  name: "json",
  column: "TEXT",
  valueType: "json",
  expected: `a JSON value, at most ${maxDepth} levels deep, with whole numbers between -(2^53-1) and 2^53-1, with finite numbers and without lone surrogates`,
  encode: (value) => (isFaithful(value, 0) ? JSON.stringify(value) : undefined),
  decode: parsed,
  emptyLiteral: `'""'`,
  isObject: true,
  mayBeLong: () => true,
  schema: {},
  typescript: { type: "JsonValue" },
};

/** The id of a record of another collection, or of a user. */
const relation: FieldType = {
  ...textual,
  name: "relation",
  expected: "the id of a record, a string",
  reference: "record",
};

/** The id of a stored file. */
const file: FieldType = {
  ...textual,
  name: "file",
  expected: "the id of a stored file, a string",
  reference: "file",
  typescript: { type: "string", note: "the id of a stored file" },
};

function coordinate(kind: "lat" | "lon"): DerivedColumn {
  return { kind, type: "REAL", sql: (value) => `json_extract(${value}, '$.${kind}')` };
}

/** A place on the Earth, stored as JSON with the members in this order. */
const geo: FieldType = {
  ...scalar,
  name: "geo",
  column: "TEXT",
  valueType: "geo",
  expected: 'an object { "lat": …, "lon": … } with a latitude from -90 to 90 and a longitude from -180 to 180',
  encode(value) {
    if (geoProblem(value) !== null) return undefined;
    const { lat, lon } = value as GeoPoint;
    return JSON.stringify({ lat: lat + 0, lon: lon + 0 });
  },
  problem: geoProblem,
  decode: parsed,
  isObject: true,
  derived: [coordinate("lat"), coordinate("lon")],
  schema: {
    type: "object",
    properties: {
      lat: { type: "number", minimum: -GEO_LIMITS.lat, maximum: GEO_LIMITS.lat },
      lon: { type: "number", minimum: -GEO_LIMITS.lon, maximum: GEO_LIMITS.lon },
    },
    required: ["lat", "lon"],
    additionalProperties: false,
  },
  typescript: { type: "{ lat: number; lon: number }", note: "a place, in degrees" },
};

/** A vector, stored with 32 bits for each number: see `encodeVector`. */
function vectorOf({ dimensions = MAX_DIMENSIONS, metric = "cosine" }: Partial<VectorShape>): FieldType {
  const problem = (value: unknown): string | null => vectorProblem(value, { dimensions, metric });
  return {
    ...scalar,
    name: "vector",
    column: "TEXT",
    valueType: "vector",
    expected: `an array of ${dimensions} numbers`,
    encode: (value) => (problem(value) === null ? encodeVector(value as number[]) : undefined),
    problem,
    decode: (stored) => numbersOf(String(stored)),
    mayBeLong: () => true,
    schema: { type: "array", items: { type: "number" }, minItems: dimensions, maxItems: dimensions },
    typescript: { type: "number[]", note: `a vector of ${dimensions} numbers` },
  };
}

/** The types of vectors, by shape. */
const vectors = new Map<string, FieldType>();

const types: { readonly [name in FieldTypeName]: FieldType } = {
  string,
  text,
  integer,
  float,
  boolean,
  datetime,
  json,
  relation,
  file,
  geo,
  vector: vectorOf({}),
};

/** The stored form of a multiple field without items, which is never null. */
export const noItems = "[]";
/** The most code points of an item, which an index holds. */
export const maxItemLength = 1_000;

/** The type of a multiple field, with an array of distinct items, in order, as value, stored as JSON. */
function multipleOf(item: FieldType): FieldType {
  return {
    ...item,
    column: "TEXT",
    expected: `an array, each item of it ${item.expected}`,
    encode(value) {
      const isEncoded = Array.isArray(value) && value.every((each) => item.encode(each) !== undefined);
      return isEncoded ? JSON.stringify(value) : undefined;
    },
    decode: parsed,
    operators: ["$add", "$remove"],
    emptyLiteral: `'${noItems}'`,
    mayBeLong: () => true,
    item,
    typescript: { ...item.typescript, type: `${item.typescript.type}[]` },
  };
}

const multipleTypes: { readonly [name in FieldTypeName]?: FieldType } = Object.fromEntries(
  (ATTRIBUTES.multiple.types ?? []).map((name) => [name, multipleOf(types[name])]),
);

/** The most items of a multiple field. */
export function maxItemsOf({ max = DEFINITION_LIMITS.itemsByDefault }: FieldDefinition): number {
  return max;
}

export function typeOf(field: Pick<FieldDefinition, "type" | "multiple" | "dimensions" | "metric">): FieldType {
  const { type, multiple, dimensions, metric } = field;
  if (type === "vector") return vectors.getOrInsertComputed(`${dimensions} ${metric}`, () => vectorOf(field));
  return multiple === true ? (multipleTypes[type] ?? types[type]) : types[type];
}

/** The stored value of a field without a value. */
export function emptyOf({ multiple }: Pick<FieldDefinition, "multiple">): Value {
  return multiple === true ? noItems : null;
}

/** The type of a name; undefined for an unknown name. */
export function typeNamed(name: unknown): FieldType | undefined {
  return Object.values(types).find((type) => type.name === name);
}

/** The names of the types to which a rule applies. */
export function typesWith(holds: (type: FieldType) => boolean): string[] {
  return Object.values(types)
    .filter(holds)
    .map(({ name }) => name);
}

/** The JSON value of a stored value. */
export function decode(field: FieldDefinition, stored: Value): JsonValue {
  const { decode: decodeStored } = typeOf(field);
  return stored === null || decodeStored === undefined ? stored : decodeStored(stored);
}

/** Whether `decode` changes values of the field. */
export function needsDecoding(field: FieldDefinition): boolean {
  return typeOf(field).decode !== undefined;
}

/** A condition, as SQL, that holds if `required` refuses the value. `value` is an SQL expression. */
export function isEmptySql(field: FieldDefinition, value: string): string {
  const { emptyLiteral } = typeOf(field);
  return emptyLiteral === null ? `${value} IS NULL` : `(${value} IS NULL OR ${value} = ${emptyLiteral})`;
}
