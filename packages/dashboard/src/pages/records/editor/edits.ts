/**
 * Edits of a form that are not saved yet: for each touched field the new value, and the record's value when the change
 * began. The changed fields, the body of the request and the conflicts with others' changes follow from the record and
 * the edits.
 */
import {
  type CollectionEntry,
  type FieldDefinition,
  isAccountField,
  type JsonValue,
  type StoredRecord,
} from "@socle/protocol";
import { kinds, type Parsed, type ValueProblem } from "../../../fields/index.ts";

/** A collection with the fields that a form writes: the fields of an account have other controls. */
export function writable(collection: CollectionEntry): CollectionEntry {
  const { name, fields } = collection;
  return { ...collection, fields: fields.filter((field) => !isAccountField(name, field.name)) };
}

/** The typed value, or JSON as typed, perhaps not valid JSON yet. */
export type Typed = { readonly value: JsonValue } | { readonly text: string };

export type Edit = Typed & {
  /** The fingerprint of the record's value when the edit began. */
  readonly from: string;
};

export type Edits = { readonly [field: string]: Edit };

function isEdit(value: unknown): value is Edit {
  if (typeof value !== "object" || value === null || !("from" in value) || typeof value.from !== "string") return false;
  return "value" in value || ("text" in value && typeof value.text === "string");
}

/** Whether the content of a draft is edits. */
export function isEdits(value: unknown): value is Edits {
  return typeof value === "object" && value !== null && Object.values(value).every(isEdit);
}

/** Fingerprints of objects: a form asks for the same fingerprints at each key. */
const known = new WeakMap<object, string>();

/** Identifies a value: a short value by its text, a long value by its length and a hash (cyrb53). */
export function fingerprint(value: JsonValue): string {
  if (typeof value !== "object" || value === null) return hash(value);
  const made = known.get(value) ?? hash(value);
  known.set(value, made);
  return made;
}

function hash(value: JsonValue): string {
  const json = JSON.stringify(value);
  if (json.length <= 64) return json;
  let a = 0xdeadbeef;
  let b = 0x41c6ce57;
  for (let i = 0; i < json.length; i += 1) {
    const code = json.charCodeAt(i);
    a = Math.imul(a ^ code, 2_654_435_761);
    b = Math.imul(b ^ code, 1_597_334_677);
  }
  a = Math.imul(a ^ (a >>> 16), 2_246_822_507) ^ Math.imul(b ^ (b >>> 13), 3_266_489_909);
  b = Math.imul(b ^ (b >>> 16), 2_246_822_507) ^ Math.imul(a ^ (a >>> 13), 3_266_489_909);
  return `#${json.length}:${(b >>> 0).toString(16)}${(a >>> 0).toString(16)}`;
}

/** Reads JSON; the empty text is null. */
export function parseJson(text: string): Parsed {
  if (text.trim() === "") return { value: null };
  try {
    return { value: JSON.parse(text) as JsonValue };
  } catch {
    return { problem: "notJson" };
  }
}

/** Parsed texts are kept, because a form asks for the same texts at each key. */
const read = new WeakMap<Edit, Parsed>();

/** The value of an edit, or the problem that stops the field from taking the edit. Unfinished numbers and times are texts. */
function parsedEdit(field: FieldDefinition, edit: Edit): Parsed {
  const before = read.get(edit);
  if (before !== undefined) return before;
  const parsed = "text" in edit ? parseJson(edit.text) : parsedValue(field, edit.value);
  read.set(edit, parsed);
  return parsed;
}

function parsedValue({ type }: FieldDefinition, value: JsonValue): Parsed {
  return typeof value === "string" ? (kinds[type].parse?.(value) ?? { value }) : { value };
}

function valueIn(record: StoredRecord | null, name: string): JsonValue {
  return record?.[name] ?? null;
}

/** Whether an edit changes the record. In a new record every touched field counts as changed. */
function isChanged(field: FieldDefinition, edit: Edit | undefined, record: StoredRecord | null): boolean {
  if (edit === undefined) return false;
  if (record === null) return true;
  const parsed = parsedEdit(field, edit);
  return "problem" in parsed || fingerprint(parsed.value) !== fingerprint(valueIn(record, field.name));
}

export function changedFields(
  fields: readonly FieldDefinition[],
  edits: Edits,
  record: StoredRecord | null,
): readonly FieldDefinition[] {
  return fields.filter((field) => isChanged(field, edits[field.name], record));
}

export interface Body {
  readonly values: { readonly [field: string]: JsonValue };
  /** Fields whose text is no value; the request waits until the user has corrected these fields. */
  readonly problems: { readonly [field: string]: ValueProblem };
}

/** The body of the request: only the changed fields. */
export function bodyOf(fields: readonly FieldDefinition[], edits: Edits, record: StoredRecord | null): Body {
  const values: { [field: string]: JsonValue } = {};
  const problems: { [field: string]: ValueProblem } = {};
  for (const field of changedFields(fields, edits, record)) {
    const edit = edits[field.name];
    if (edit === undefined) continue;
    const parsed = parsedEdit(field, edit);
    if ("problem" in parsed) problems[field.name] = parsed.problem;
    else values[field.name] = parsed.value;
  }
  return { values, problems };
}

/** Edited fields that another user has changed since, to a value different from the typed value. */
export function conflicts(
  fields: readonly FieldDefinition[],
  edits: Edits,
  record: StoredRecord | null,
): readonly FieldDefinition[] {
  if (record === null) return [];
  return changedFields(fields, edits, record).filter(
    ({ name }) => edits[name]?.from !== fingerprint(valueIn(record, name)),
  );
}

/** The other user's values win: the edits of these fields are removed. */
export function withoutEdits(edits: Edits, fields: readonly FieldDefinition[]): Edits {
  const names = new Set(fields.map(({ name }) => name));
  return Object.fromEntries(Object.entries(edits).filter(([name]) => !names.has(name)));
}

/** The user's values win: the edits of these fields begin again from the present values of the record. */
export function rebased(edits: Edits, fields: readonly FieldDefinition[], record: StoredRecord): Edits {
  const next: { [field: string]: Edit } = { ...edits };
  for (const { name } of fields) {
    const edit = edits[name];
    if (edit !== undefined) next[name] = { ...edit, from: fingerprint(valueIn(record, name)) };
  }
  return next;
}

/** The edits that create a copy of this record, with the user's changes. */
export function editsForCopy(fields: readonly FieldDefinition[], edits: Edits, record: StoredRecord): Edits {
  const next: { [field: string]: Edit } = {};
  const nothing = fingerprint(null);
  // The service gives a copy its own number.
  for (const { name } of fields.filter(({ sequence }) => sequence === undefined)) {
    const edit = edits[name];
    if (edit !== undefined) next[name] = { ...edit, from: nothing };
    else if (valueIn(record, name) !== null) next[name] = { value: valueIn(record, name), from: nothing };
  }
  return next;
}

/** The value for the form: the value of the edit, or the value of the record without an edit. */
export function shownValue(field: FieldDefinition, edit: Edit | undefined, record: StoredRecord | null): JsonValue {
  if (edit === undefined) return valueIn(record, field.name);
  if ("value" in edit) return edit.value;
  const parsed = parsedEdit(field, edit);
  return "problem" in parsed ? null : parsed.value;
}
