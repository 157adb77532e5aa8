/** Values that the rules of a definition accept, for examples. */
import type { FieldDefinition, JsonValue } from "@socle/protocol";
import { kinds } from "../../../fields/index.ts";
import { sampleOf } from "./pattern.ts";

/** Example texts by the name of the field. */
const texts: readonly (readonly [RegExp, string])[] = [
  [/mail/i, "ada@example.com"],
  [/slug|handle/i, "first-steps"],
  [/url|link|site/i, "https://example.com"],
  [/phone|tel/i, "+4930123456"],
  [/colou?r/i, "#0f6f68"],
  [/title|subject|headline/i, "First steps"],
  [/name/i, "Ada Lovelace"],
  [/./, "Some text"],
];

const words = "Hello from the other side of the wire, where every value keeps the rules of its field. ";

function fits(field: FieldDefinition, value: string): boolean {
  const length = [...value].length;
  if (length < (field.min ?? 0) || length > (field.max ?? Number.POSITIVE_INFINITY)) return false;
  if (field.required === true && value === "") return false;
  if (field.regex === undefined) return true;
  try {
    return new RegExp(field.regex, "u").test(value);
  } catch {
    return false;
  }
}

function exampleText(field: FieldDefinition): string {
  const min = field.min ?? 0;
  const max = Math.min(field.max ?? 80, 2_000);
  const filled = words.repeat(Math.ceil(Math.max(min, 1) / words.length)).slice(0, Math.max(min, Math.min(max, 12)));
  const named = texts.filter(([name]) => name.test(field.name)).map(([, value]) => value);
  const candidates = [...named, ...texts.map(([, value]) => value), filled, "abc", "ABC", "123", "a1", "x"];
  const pattern = field.regex === undefined ? null : sampleOf(field.regex, Math.max(min, 1));
  return [...candidates, ...(pattern === null ? [] : [pattern])].find((value) => fits(field, value)) ?? "…";
}

function exampleNumber({ min, max }: FieldDefinition, wanted: number): number {
  return Math.min(max ?? Number.POSITIVE_INFINITY, Math.max(min ?? Number.NEGATIVE_INFINITY, wanted));
}

/** An example value; null for a record or a file, because an example cannot know ids. */
export function exampleOf(field: FieldDefinition): JsonValue {
  if (field.multiple === true) {
    // The bounds count the items.
    const { min, max, multiple, ...item } = field;
    const value = exampleOf(item);
    return value === null ? null : [value];
  }
  // A vector is long: an example has the vector alone that a record needs.
  if (field.type === "vector") return field.required === true ? Array<number>(field.dimensions ?? 1).fill(0.1) : null;
  const { example = null, isText } = kinds[field.type];
  if (isText) return field.values === undefined ? exampleText(field) : (field.values[0] ?? null);
  if (typeof example !== "number") return example;
  const fitting = exampleNumber(field, example);
  return field.type === "integer" ? Math.round(fitting) : fitting;
}

/** The values of a new record. Records and files have real ids only if `ids` contains the ids. */
export function exampleRecord(
  fields: readonly FieldDefinition[],
  ids: ReadonlyMap<string, string>,
): { [field: string]: JsonValue } {
  const values: { [field: string]: JsonValue } = {};
  for (const field of fields) {
    // The service sets the value.
    if (field.owner === true || field.sequence !== undefined) continue;
    const isId = field.type === "relation" || field.type === "file";
    const known = isId ? (ids.get(field.name) ?? null) : exampleOf(field);
    const unknown = field.type === "file" ? "fil_…" : field.collection === "users" ? "usr_…" : "rec_…";
    const value = known ?? (field.required === true ? unknown : null);
    if (value !== null) values[field.name] = field.multiple === true ? [value].flat() : value;
  }
  return values;
}
