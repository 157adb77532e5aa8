/** Changes of a draft: what differs from the stored definition, and a draft on top of a definition that another user changed. */
import type { CollectionAdmin } from "@socle/client";
import type { ChangedField, CollectionDefinition } from "@socle/protocol";
import {
  definitionOf,
  draftOf,
  type FieldDraft,
  fieldDraft,
  fieldOf,
  indexDraft,
  keptFields,
  othersOf,
  refsOf,
  type SchemaDraft,
} from "./draft.ts";
import { valueChanges } from "./rules.ts";

/** A definition as stored by the service, with the time of its last change. */
export interface StoredDefinition {
  readonly definition: CollectionDefinition;
  readonly updatedAt: string;
}

export type SchemaChange = Parameters<CollectionAdmin["update"]>[1];

/** Whether two values have the same JSON, in the same order. */
export function isSame(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

/**
 * The change from `stored` to the draft; null without a difference. A renamed or new field is marked in the change, so that the
 * service never guesses.
 */
export function changeOf(draft: SchemaDraft, stored: CollectionDefinition): SchemaChange | null {
  const before = definitionOf(draftOf(stored, true));
  const after = definitionOf(draft);
  const fields = keptFields(draft).map((field): ChangedField => {
    const definition = changedField(field);
    if (field.stored === null) return { ...definition, renamedFrom: null };
    return field.stored.name === definition.name ? definition : { ...definition, renamedFrom: field.stored.name };
  });
  // Indexes and searched fields that the change omits follow renamed fields in the service; a change with indexes uses the new names.
  const areFieldsChanged = fields.some((field) => "renamedFrom" in field) || !isSame(before.fields, after.fields);
  const change: SchemaChange = areFieldsChanged ? { fields } : {};
  for (const part of ["permissions", "indexes", "search", "history", "trash"] as const)
    if (!isSame(before[part], after[part])) Object.assign(change, { [part]: after[part] ?? null });
  return Object.keys(change).length === 0 ? null : change;
}

/** The definition of a field, with the former names of renamed values, and with the former type of a float that was an integer. */
function changedField(field: FieldDraft): ChangedField {
  const isConverted = field.stored?.type === "integer" && field.type === "float";
  const definition: ChangedField = { ...fieldOf(field), ...(isConverted && { convertedFrom: "integer" }) };
  const { came, gone } = valueChanges(field);
  const values = fieldOf(field).values?.map((name) => {
    const renamedFrom = came.includes(name) ? field.renamedValues[name] : undefined;
    return renamedFrom !== undefined && gone.includes(renamedFrom) ? { name, renamedFrom } : name;
  });
  return values === undefined ? definition : { ...definition, values };
}

/** Whether two definitions have the same meaning, in any spelling. */
export function isSameDefinition(a: CollectionDefinition, b: CollectionDefinition): boolean {
  return isSame(definitionOf(draftOf(a, true)), definitionOf(draftOf(b, true)));
}

/** Whether a new collection's draft differs from its first state. */
export function isTouched(draft: SchemaDraft, first: SchemaDraft): boolean {
  return !isSame(definitionOf(draft), definitionOf(first));
}

/** Whether a field of the draft equals the stored field. */
function isUntouched(field: FieldDraft): boolean {
  const { stored } = field;
  return stored !== null && !field.isDropped && isSame(fieldOf(field), fieldOf(fieldDraft("", stored, stored)));
}

/**
 * The draft on top of the present stored definition: the draft keeps its own changes, and everything else becomes as stored.
 * @param before the definition at the start of the draft
 */
export function rebased(draft: SchemaDraft, before: CollectionDefinition, now: CollectionDefinition): SchemaDraft {
  const current = new Map(now.fields.map((field) => [field.name, field]));
  const fields: FieldDraft[] = [];
  for (const field of draft.fields) {
    if (field.stored === null) {
      const twin = current.get(field.name.trim());
      // Both users added a field of this name: the field is stored now, and takes the draft's options.
      fields.push(twin === undefined ? field : { ...field, stored: twin });
      continue;
    }
    const stored = current.get(field.stored.name);
    if (stored === undefined) {
      // Another user dropped the field. A field with changes in the draft becomes a new field; an unchanged field is removed.
      if (!field.isDropped && !isUntouched(field)) fields.push({ ...field, stored: null });
    } else if (isUntouched(field)) fields.push(fieldDraft(field.key, stored, stored));
    else fields.push({ ...field, stored });
  }
  let nextKey = draft.nextKey;
  const known = new Set(fields.flatMap(({ stored }) => (stored === null ? [] : [stored.name])));
  for (const field of now.fields) {
    if (known.has(field.name)) continue;
    fields.push(fieldDraft(`#${nextKey}`, field, field));
    nextKey += 1;
  }
  const [old, mine, theirs] = [definitionOf(draftOf(before, true)), definitionOf(draft), draftOf(now, true)];
  const permissions = isSame(old.permissions, mine.permissions) ? theirs.permissions : draft.permissions;
  const refs = refsOf(fields);
  const search = isSame(old.search, mine.search) ? (now.search ?? []).map(refs) : draft.search;
  const others = isSame(othersOf(old), draft.others) ? theirs.others : draft.others;
  const next = { ...draft, fields, permissions, search, others, nextKey };
  if (!isSame(old.indexes, mine.indexes)) return next;
  const indexes = (now.indexes ?? []).map((index, i) => indexDraft(`#${nextKey + i}`, index, refs));
  return { ...next, indexes, nextKey: nextKey + indexes.length };
}
