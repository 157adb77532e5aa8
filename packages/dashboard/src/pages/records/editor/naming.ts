/** Names of records: a readable name, the fields for a search, the rules of a field in few words. */
import { filter } from "@socle/client";
import { type FieldDefinition, isUnique, type JsonValue, type StoredRecord } from "@socle/protocol";

import { visible } from "../../../kit/format.ts";

const usualNames = ["name", "title", "label", "subject", "email", "username", "slug", "key", "code"];
const maxSearched = 6;
const maxPreviewed = 5;

/** The field that names a record; null in a collection without a suitable field. */
export function nameField(fields: readonly FieldDefinition[]): FieldDefinition | null {
  // A field with `values` does not name a record, and neither does a multiple field.
  const strings = fields.filter(
    ({ type, values, multiple }) => type === "string" && values === undefined && multiple !== true,
  );
  for (const name of usualNames) {
    const found = strings.find((field) => field.name.toLowerCase() === name);
    if (found !== undefined) return found;
  }
  return strings.find(({ required }) => required === true) ?? strings[0] ?? null;
}

/** The fields for a search: the name field first. */
export function searchedFields(fields: readonly FieldDefinition[]): readonly FieldDefinition[] {
  const first = nameField(fields);
  const others = fields.filter((field) => field.type === "string" && field !== first);
  return [...(first === null ? [] : [first]), ...others].slice(0, maxSearched);
}

/** The filter that finds a text in any of the fields; undefined without a text or without fields. */
export function searchFilter(fields: readonly FieldDefinition[], words: string): string | undefined {
  const text = words.trim();
  const searched = searchedFields(fields);
  if (text === "" || searched.length === 0) return undefined;
  return searched.map(({ name }) => `${name} ${filter`~ ${text}`}`).join(" || ");
}

/** The fields of a preview: short fields, the name first. */
export function previewedFields(fields: readonly FieldDefinition[]): readonly FieldDefinition[] {
  const first = nameField(fields);
  const unnamed = ["text", "json", "geo", "vector"];
  const others = fields.filter((field) => field !== first && !unnamed.includes(field.type));
  return [...(first === null ? [] : [first]), ...others].slice(0, maxPreviewed);
}

/** The name of a record, or the id of a record without a name. */
export function recordName(record: StoredRecord, fields: readonly FieldDefinition[]): string {
  const field = nameField(fields);
  const value = field === null ? null : record[field.name];
  return typeof value === "string" && value.trim() !== "" ? clip(value, 120) : record.id;
}

/** A text in a single line, cut after `length` characters. */
export function clip(text: string, length: number): string {
  const line = visible(text.slice(0, length + 1).replace(/\s+/g, " "));
  return line.length > length ? `${line.slice(0, length)}…` : line;
}

/** A value in a single line. */
export function shortValue(value: JsonValue, length = 120): string {
  if (typeof value === "string") return value === "" ? '""' : clip(value, length);
  return clip(JSON.stringify(value), length);
}

/** Whether a text is a whole id of a record or a user. */
export function isId(text: string, prefix: "rec" | "usr" | "fil"): boolean {
  return new RegExp(`^${prefix}_[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`).test(text);
}

/** The type and the rules of a field in few words: "string · 3–80 · unique". */
export function fieldHint(field: FieldDefinition): string {
  const { min, max } = field;
  const type = field.type === "relation" ? `→ ${field.collection ?? "?"}` : field.type;
  const parts: string[] = [field.multiple === true ? `${type}[]` : type];
  if (min !== undefined && max !== undefined) parts.push(`${min}–${max}`);
  else if (min !== undefined) parts.push(`≥ ${min}`);
  else if (max !== undefined) parts.push(`≤ ${max}`);
  if (field.dimensions !== undefined) parts.push(String(field.dimensions));
  if (field.regex !== undefined) parts.push(`/${clip(field.regex, 40)}/`);
  if (field.values !== undefined) parts.push(clip(field.values.join(", "), 60));
  if (field.sequence !== undefined) parts.push("sequence");
  if (field.default !== undefined) parts.push(`default ${shortValue(field.default, 40)}`);
  if (field.format !== undefined) parts.push(field.format);
  if (isUnique(field)) parts.push(field.unique === "nocase" ? "unique in any case" : "unique");
  if (field.owner === true) parts.push("owner");
  return parts.join(" · ");
}
