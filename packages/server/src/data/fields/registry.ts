/** The registry of field types: every question about a type is asked here. A new type is a file in `types/` and its line below. */
import type { FieldDefinition, FieldType as FieldTypeName, JsonValue } from "@socle/protocol";
import type { Value } from "../../store/database/index.ts";
import type { FieldType } from "./field-type.ts";
import { multipleOf, noItems } from "./multiple.ts";
import { boolean } from "./types/boolean.ts";
import { datetime } from "./types/datetime.ts";
import { file } from "./types/file.ts";
import { float } from "./types/float.ts";
import { integer } from "./types/integer.ts";
import { json } from "./types/json.ts";
import { relation } from "./types/relation.ts";
import { string } from "./types/string.ts";
import { text } from "./types/text.ts";

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
};

const multipleTypes: { readonly [name in FieldTypeName]?: FieldType } = {
  string: multipleOf(string),
  relation: multipleOf(relation),
  file: multipleOf(file),
};

/** The names of the types that a multiple field may have. */
export const multipleTypeNames = Object.keys(multipleTypes);

/** The type of a field. */
export function typeOf({ type, multiple }: Pick<FieldDefinition, "type" | "multiple">): FieldType {
  return multiple === true ? (multipleTypes[type] ?? types[type]) : types[type];
}

/** The stored value of a field without a value. */
export function emptyOf({ multiple }: Pick<FieldDefinition, "multiple">): Value {
  return multiple === true ? noItems : null;
}

/** The type of a name; undefined for an unknown name. */
export function typeNamed(name: unknown): FieldType | undefined {
  return typeof name === "string" && Object.hasOwn(types, name) ? types[name as FieldTypeName] : undefined;
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
